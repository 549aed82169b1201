//===- RoundTripTest.cpp - every operation prints what it parses ----------===//
//
// Each text is as the printer writes it: parsed, printed and compared, so that dumps can be re-entered anywhere.
//
//===----------------------------------------------------------------------===//

#include "tests/ir/support/IrTest.h"

#include <set>

using namespace spmdc;

namespace {

class RoundTripTest : public IrTest {
protected:
  /// Statements of a function body over parameters that all texts share. Each must print as it is written.
  void expectSame(llvm::ArrayRef<const char *> statements) {
    for (const char *statement : statements) {
      std::string text = std::string(kHead) + "    " + statement + "\n    return\n  }\n}\n";
      auto module = parseValid(text);
      if (!module)
        continue;
      std::string printed = print(*module);
      EXPECT_NE(printed.find(std::string("    ") + statement + "\n"), std::string::npos)
          << "written: " << statement << "\nprinted: " << printed;
      auto again = parseValid(printed);
      ASSERT_TRUE(again);
      EXPECT_EQ(print(*again), printed);
      module->walk([&](mlir::Operation *op) { seen.insert(op->getName().getStringRef().str()); });
    }
  }

  /// Every operation of the dialect was in a text, except these.
  void expectAllSeen(llvm::StringRef dialect, const std::set<std::string> &elsewhere = {}) {
    for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
      if (name.getDialectNamespace() == dialect && !elsewhere.count(name.getStringRef().str()))
        EXPECT_TRUE(seen.count(name.getStringRef().str())) << name.getStringRef().str() << " is in no text";
  }

  static constexpr const char *kHead = R"mlir(module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @main(%arg0: !spmd.array<f32[8, 4]>, %arg1: !spmd.array<f32[8@a, 4]>, %arg2: !spmd.array<i32[8, 4]>, %arg3: !spmd.array<bool[8, 4]>, %arg4: !spmd.array<f32[]>, %arg5: !spmd.array<f32[4, 3]>, %arg6: !spmd.array<bool[]>, %arg7: !spmd.array<i32[]>, %arg8: !spmd.array<u32[3]>, %arg9: !spmd.array<f32[8, 8, 4]>, %arg10: !spmd.array<f32[6, 2]>) {
)mlir";
  static constexpr const char *kGradient = R"mlir(module {
  func.func @main(%arg0: !spmd.array<f32[4@a]>) -> !spmd.array<f32[4]> {
    %0:2 = array.gradient(%arg0) {
    ^bb0(%arg1: !spmd.array<f32[4]>):
      %1 = array.checkpoint {
        %2 = array.reduce sum %arg1 dims [0] : <f32[4]> -> <f32[]>
        array.yield %2 : !spmd.array<f32[]>
      } : !spmd.array<f32[]>
      array.checkpoint {
        array.yield
      }
      array.yield %1 : !spmd.array<f32[]>
    } : (!spmd.array<f32[4@a]>) -> (!spmd.array<f32[]>, !spmd.array<f32[4]>)
    return %0#1 : !spmd.array<f32[4]>
  }
}
)mlir";
  std::set<std::string> seen;
};

TEST_F(RoundTripTest, ArrayOperations) {
  for (const char *name : {"exp",
                           "exp2",
                           "expm1",
                           "log",
                           "log1p",
                           "log2",
                           "sqrt",
                           "rsqrt",
                           "cbrt",
                           "sin",
                           "cos",
                           "tan",
                           "tanh",
                           "sinh",
                           "cosh",
                           "asin",
                           "acos",
                           "atan",
                           "erf",
                           "erf_inv",
                           "logistic",
                           "floor",
                           "ceil",
                           "round_nearest_even",
                           "abs",
                           "negate",
                           "sign",
                           "stop_gradient",
                           "optimization_barrier"})
    expectSame({(std::string("%0 = array.") + name + " %arg0 : <f32[8, 4]>").c_str()});
  for (const char *name :
       {"add", "subtract", "multiply", "divide", "remainder", "power", "atan2", "maximum", "minimum"})
    expectSame({(std::string("%0 = array.") + name + " %arg0, %arg0 : <f32[8, 4]>").c_str()});
  for (const char *name : {"and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical"})
    expectSame({(std::string("%0 = array.") + name + " %arg2, %arg2 : <i32[8, 4]>").c_str()});
  expectSame({
      "%0 = array.not %arg3 : <bool[8, 4]>",
      "%0 = array.popcnt %arg2 : <i32[8, 4]>",
      "%0 = array.is_finite %arg0 : <f32[8, 4]> -> <bool[8, 4]>",
      "%0 = array.convert %arg0 : <f32[8, 4]> -> <bf16[8, 4]>",
      "%0 = array.bitcast_convert %arg0 : <f32[8, 4]> -> <u32[8, 4]>",
      "%0 = array.compare lt %arg0, %arg1 : <f32[8, 4]>, <f32[8@a, 4]> -> <bool[8, 4]>",
      "%0 = array.select %arg3, %arg0, %arg0 : <bool[8, 4]>, <f32[8, 4]>, <f32[8, 4]> -> <f32[8, 4]>",
      "%0 = array.clamp %arg0, %arg0, %arg0 : <f32[8, 4]>",
      "%0 = array.constant dense<[1.500000e+00, -0.000000e+00]> : tensor<2xf32> -> <f32[2]>",
      "%0 = array.constant dense<7> : tensor<3x0xui8> -> <u8[3, 0]>",
      "%0 = array.iota dim 1 : <bf16[2, 3@a]>",
      "%0 = array.broadcast_in_dim %arg4 dims [] : <f32[]> -> <f32[2, 3]>",
      "%0 = array.reshape %arg0 : <f32[8, 4]> -> <f32[2, 16]>",
      "%0 = array.transpose %arg0 perm [1, 0] : <f32[8, 4]> -> <f32[4, 8]>",
      "%0 = array.slice %arg0 [1, 0] to [8, 4] step [2, 1] : <f32[8, 4]> -> <f32[4, 4]>",
      "%0 = array.pad %arg0 with %arg4 low [1, -1] high [0, 0] interior [0, 1] : <f32[8, 4]>, <f32[]> -> <f32[9, 6]>",
      "%0 = array.concatenate %arg0, %arg1 dim 1 : !spmd.array<f32[8, 4]>, !spmd.array<f32[8@a, 4]> -> <f32[8, 8]>",
      "%0 = array.reverse %arg0 dims [0] : <f32[8, 4]> -> <f32[8, 4]>",
      "%0 = array.dot_general %arg0, %arg5 contract [1] x [0] batch [] x [] : <f32[8, 4]>, <f32[4, 3]> -> <f32[8, 3]>",
      "%0 = array.einsum %arg0, %arg5, %arg5 labels [[0, 1], [1, 2], [1, 2]] -> [2, 0] : !spmd.array<f32[8, 4]>, "
      "!spmd.array<f32[4, 3]>, !spmd.array<f32[4, 3]> -> <f32[3, 8]>",
      "%0 = array.reduce and %arg3 dims [1] : <bool[8, 4]> -> <bool[8]>",
      "%0 = array.arg_reduce %arg0 max = true dim 1 : <f32[8, 4]> -> <i32[8]>",
      "%0 = array.cumulative sum %arg0 dim 0 : <f32[8, 4]> -> <f32[8, 4]>",
      "%0 = array.cumulative sum %arg0 dim 1 reversed continued : <f32[8, 4]> -> <f32[8, 4]>",
      "%0 = array.dynamic_slice %arg0 at(%arg7, %arg7) sizes [1, 4] : (!spmd.array<f32[8, 4]>, !spmd.array<i32[]>, "
      "!spmd.array<i32[]>) -> !spmd.array<f32[1, 4]>",
      "%0 = array.dynamic_slice %arg4 at() sizes [] : (!spmd.array<f32[]>) -> !spmd.array<f32[]>",
      "%0 = array.dynamic_update_slice %arg0, %arg5 at(%arg7, %arg7) : (!spmd.array<f32[8, 4]>, "
      "!spmd.array<f32[4, 3]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[8, 4]>",
      "%0 = array.dynamic_update_slice %arg4, %arg4 at() : (!spmd.array<f32[]>, !spmd.array<f32[]>) -> "
      "!spmd.array<f32[]>",
      "%0 = array.take %arg1, %arg2 dim 1 : <f32[8@a, 4]>, <i32[8, 4]> -> <f32[8@a, 8, 4]>",
      "%0 = array.take_along %arg0, %arg2 dim 0 : <f32[8, 4]>, <i32[8, 4]> -> <f32[8, 4]>",
      "%0 = array.scatter_add %arg0, %arg2, %arg9 dim 1 : <f32[8, 4]>, <i32[8, 4]>, <f32[8, 8, 4]> -> <f32[8, 4]>",
      "%0 = array.scatter max %arg0, %arg2, %arg9 dim 1 unique : <f32[8, 4]>, <i32[8, 4]>, <f32[8, 8, 4]> -> <f32[8, "
      "4]>",
      "%0 = array.scatter replace %arg0, %arg2, %arg0 dim 0 along : <f32[8, 4]>, <i32[8, 4]>, <f32[8, 4]> -> <f32[8, "
      "4]>",
      "%0 = array.scatter_add_along %arg1, %arg2, %arg0 dim 1 : <f32[8@a, 4]>, <i32[8, 4]>, <f32[8, 4]> -> <f32[8@a, "
      "4]>",
      "%0 = array.argsort %arg0 dim 1 descending = true : <f32[8, 4]> -> <i32[8, 4]>",
      "%0 = array.fft %arg10 dim 0 length 6 divisor 1 : <f32[6, 2]> -> <f32[6, 2]>",
      "%0 = array.fft %arg10 dim 0 length 11 inverse divisor 11 : <f32[6, 2]> -> <f32[11, 1]>",
      "%0 = array.threefry2x32 word 1 %arg8, %arg8, %arg8, %arg8 : <u32[3]>, <u32[3]>, <u32[3]>, <u32[3]> -> <u32[3]>",
      // Shardings that differ between operands and result are printed.
      "%0 = array.add %arg0, %arg1 : (<f32[8, 4]>, <f32[8@a, 4]>) -> <f32[8, 4@b]>",
      "%0 = array.sin %arg1 : (<f32[8@a, 4]>) -> <f32[8, 4]>",
  });
  auto module = parseValid(kGradient);
  ASSERT_TRUE(module);
  EXPECT_EQ(print(*module), kGradient);
  module->walk([&](mlir::Operation *op) { seen.insert(op->getName().getStringRef().str()); });
  expectAllSeen("array", {"array.for", "array.while", "array.if", "array.print"});
}

TEST_F(RoundTripTest, ShardingsAsTheLanguageWritesThem) {
  expectSame({
      "%0 = spmd.constraint %arg0 : <f32[8, 4]> -> <f32[8@a, 4]>",
      "%0 = spmd.constraint %arg0 : <f32[8, 4]> -> <f32[8@_, 4]>",
      "%0 = spmd.constraint %arg0 : <f32[8, 4]> -> <f32[8@\"(a, b)\", 4@_]>",
      "%0 = spmd.constraint %arg0 : <f32[8, 4]> -> <f32[8@\"(a, b)?\", 4]>",
      "%0 = spmd.constraint %arg0 : <f32[8, 4]> -> <f32[8@\"a?\", 4@\"b!1\"]>",
      "%0 = spmd.constraint %arg0 : <f32[8, 4]> -> <f32[8@\"a:(1)2\", 4@\"a:(2)2\"]>",
      "%0 = spmd.constraint %arg0 : <f32[8, 4]> -> <f32[8@a, 4] unreduced(b)>",
      "%0 = spmd.constraint %arg4 : <f32[]> -> <f32[] unreduced(a, b)>",
  });
}

TEST_F(RoundTripTest, ControlFlow) {
  auto module = parseValid(R"mlir(
    func.func @main(%x: !spmd.array<f32[2]>, %p: !spmd.array<bool[]>) -> !spmd.array<f32[2@a]> {
      %0 = array.for -3 to 7 (%x) {
      ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[2@a]>):
        array.yield %c : !spmd.array<f32[2@a]>
      } : (!spmd.array<f32[2]>) -> !spmd.array<f32[2@a]>
      %1 = array.while (%0) {
      ^bb0(%c: !spmd.array<f32[2@a]>):
        array.yield %p : !spmd.array<bool[]>
      } do {
      ^bb0(%c: !spmd.array<f32[2@a]>):
        array.print ["x", " and ", ""](%x, %p) : !spmd.array<f32[2]>, !spmd.array<bool[]>
        array.print ["only text"]() {note = 1 : i64}
        array.yield %c : !spmd.array<f32[2@a]>
      } : (!spmd.array<f32[2@a]>) -> !spmd.array<f32[2@a]>
      array.print ["", ""](%x) global [!spmd.array<f32[2]>] : !spmd.array<f32[2]>
      %2 = array.if %p {
        array.yield %1 : !spmd.array<f32[2@a]>
      } else {
        array.yield %x : !spmd.array<f32[2]>
      } : (!spmd.array<bool[]>) -> !spmd.array<f32[2@a]>
      return %2 : !spmd.array<f32[2@a]>
    })mlir");
  ASSERT_TRUE(module);
  std::string printed = print(*module);
  auto again = parseValid(printed);
  ASSERT_TRUE(again);
  EXPECT_EQ(print(*again), printed);
}

TEST_F(RoundTripTest, SpmdOperations) {
  expectSame({
      "%0 = spmd.constraint %arg0 : <f32[8, 4]> -> <f32[8@a, 4]>",
      "%0 = spmd.reshard %arg1 {why = \"because\"} : <f32[8@a, 4]> -> <f32[8@b, 4]>",
      "spmd.sharding_group %arg0 group 3 : <f32[8, 4]>",
      "%0 = spmd.all_reduce sum %arg0 over <a, b> : <f32[8, 4]> -> <f32[8, 4]>",
      "%0 = spmd.all_reduce max %arg0 over <a:(2)2> {why = \"x\"} : <f32[8, 4]> -> <f32[8, 4]>",
      "%0 = spmd.all_gather %arg0 dim 1 over <b> : <f32[8, 4]> -> <f32[8, 7]>",
      "%0 = spmd.all_slice %arg0 dim 0 over <a> : <f32[8, 4]> -> <f32[2, 4]>",
      "%0 = spmd.reduce_scatter sum %arg0 dim 0 over <a> : <f32[8, 4]> -> <f32[2, 4]>",
      "%0 = spmd.all_to_all %arg0 split 1 concat 0 over <b> : <f32[8, 4]> -> <f32[16, 2]>",
      "%0 = spmd.collective_permute %arg0 pairs [0, 1, 1, 0] over <b> : <f32[8, 4]> -> <f32[8, 4]>",
      "%0 = spmd.collective_broadcast %arg0 from %arg7 over <a, b> : <f32[8, 4]>, <i32[]> -> <f32[8, 4]>",
      "%0 = spmd.exchange %arg0 over <b> from !spmd.array<f32[16@b, 4]> to !spmd.array<f32[16, 4@b]> : <f32[8, 4]> -> "
      "<f32[16, 2]>",
      "%0 = spmd.exchange %arg0 over <a> from !spmd.array<f32[32@a, 4]> to !spmd.array<f32[40@a, 4]> moves "
      "[#spmd.move<shift = -1, begin = 1, end = 39, length = 10, step = 1, base = 32>, #spmd.move<>] : <f32[8, 4]> -> "
      "<f32[10, 4]>",
      "%0 = spmd.exchange %arg0 over <a> from !spmd.array<f32[28@a, 4]> to !spmd.array<f32[28@a, 4]> moves "
      "[#spmd.move<block = 4>, #spmd.move<>] : <f32[8, 4]> -> <f32[7, 4]>",
      "%0 = spmd.exchange %arg0 over <a> from !spmd.array<f32[32@a, 4]> to !spmd.array<f32[4, 32@a]> : <f32[8, 4]> -> "
      "<f32[4, 8]>",
      "%0 = spmd.shard_start 9 over <a, b> : <i32[]>",
      "%0 = spmd.shard_size 9 over <a> : <i32[]>",
      "%0 = spmd.axis_index <b> : <i32[]>",
  });
  expectAllSeen("spmd", {"spmd.manual", "spmd.yield"});
}

TEST_F(RoundTripTest, PlanOperations) {
  expectSame({
      "%0 = plan.launch @k(%arg0) : (!spmd.array<f32[8, 4]>) -> !spmd.array<f32[8]>",
      "%0 = plan.launch @k(%arg0) {buffers = [#plan.buffer<\"arena\", 64>]} : (!spmd.array<f32[8, 4]>) -> "
      "!spmd.array<f32[8]>",
      "%0 = plan.matmul %arg0, %arg5 {batch = 1 : i64, k = 4 : i64, m = 8 : i64, n = 3 : i64, transposeLhs = false, "
      "transposeRhs = false} : <f32[8, 4]>, <f32[4, 3]> -> <f32[8, 3]>",
      "%0 = plan.matmul %arg0, %arg5 epilogue @k(%arg4 : !spmd.array<f32[]>) {batch = 1 : i64, k = 4 : i64, m = 8 : "
      "i64, n = 3 : i64, transposeLhs = false, transposeRhs = false} : <f32[8, 4]>, <f32[4, 3]> "
      "-> <f32[8, 3]>",
      "%0 = plan.matmul %arg0, %arg5 epilogue @k(%arg4 : !spmd.array<f32[]>) {batch = 1 : i64, k = 4 : i64, "
      "libraryEpilogue = #plan.library_epilogue<\"gelu\", factor = 1.000000e-01 : f64, arrayFactor = 0.000000e+00 : "
      "f64, "
      "array = -1, bias = 0>, m = 8 : i64, n = 3 : i64, transposeLhs = false, transposeRhs = false} : <f32[8, 4]>, "
      "<f32[4, 3]> -> <f32[8, 3]>",
      "%0 = plan.matmul %arg0, %arg5 epilogue @k {batch = 1 : i64, k = 4 : i64, m = 8 : i64, n = 3 : i64, transposeLhs "
      "= "
      "false, transposeRhs = false} : <f32[8, 4]>, <f32[4, 3]> -> <f32[8, 3]>",
      "%0 = plan.copy %arg0 : <f32[8, 4]> -> <f32[32]>",
      "%0 = plan.library \"argsort\"(%arg0) sizes [8, 4, 1] : (!spmd.array<f32[8, 4]>) -> !spmd.array<i32[8, 4]>",
      "%0 = plan.constant dense<1> : tensor<2xi32> -> <i32[2]>",
      "plan.print [\"x \", \"\"](%arg0) global [!spmd.array<f32[8, 4]>] : !spmd.array<f32[8, 4]>",
  });
  auto module = parseValid(R"mlir(
    module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
      plan.kernel @k(%x: !spmd.array<f32[2]>) attributes {extent = 2 : i64, grain = 1 : i64} {
        %0 = array.sin %x : <f32[2]>
        plan.return %0 : !spmd.array<f32[2]>
      }
      func.func @main(%x: !spmd.array<f32[2]>, %p: !spmd.array<bool[]>) -> !spmd.array<f32[2]> {
        %token = plan.start 0(%x : !spmd.array<f32[2]>) {
        ^bb0(%y: !spmd.array<f32[2]>):
          %r = spmd.all_reduce sum %y over <a> : <f32[2]> -> <f32[2]>
          plan.yield %r : !spmd.array<f32[2]>
        }
        %0 = plan.done %token : !spmd.array<f32[2]>
        %1 = plan.if %p {
          plan.yield %0 : !spmd.array<f32[2]>
        } else {
          plan.yield %x : !spmd.array<f32[2]>
        } : !spmd.array<bool[]> -> !spmd.array<f32[2]>
        %2 = plan.while (%1) {
        ^bb0(%y: !spmd.array<f32[2]>):
          plan.yield %p : !spmd.array<bool[]>
        } do {
        ^bb0(%y: !spmd.array<f32[2]>):
          plan.yield %y : !spmd.array<f32[2]>
        } : (!spmd.array<f32[2]>) -> !spmd.array<f32[2]>
        %3 = plan.for 0 to 7 (%2) {
        ^bb0(%i: !spmd.array<i32[]>, %y: !spmd.array<f32[2]>):
          plan.yield %y : !spmd.array<f32[2]>
        } : (!spmd.array<f32[2]>) -> !spmd.array<f32[2]>
        return %3 : !spmd.array<f32[2]>
      }
    })mlir");
  ASSERT_TRUE(module);
  std::string printed = print(*module);
  auto again = parseValid(printed);
  ASSERT_TRUE(again);
  EXPECT_EQ(print(*again), printed);
  module->walk([&](mlir::Operation *op) { seen.insert(op->getName().getStringRef().str()); });
  expectAllSeen("plan");
}

} // namespace
