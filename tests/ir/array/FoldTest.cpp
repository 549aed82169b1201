//===- FoldTest.cpp - folders and canonicalization of array operations ----===//

#include "ir/array/ArrayOps.h"
#include "tests/ir/support/IrTest.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace spmdc;

namespace {

class FoldTest : public IrTest {
protected:
  /// The body of the canonicalized function, without its return.
  std::string fold(llvm::StringRef statement, llvm::StringRef result) {
    std::string type = ("!spmd.array" + result).str();
    auto module = parseValid((R"mlir(
      func.func @main(%x: !spmd.array<f32[8, 6]>, %e: !spmd.array<f32[8, 0]>, %s: !spmd.array<f32[]>) -> )mlir" +
                              type + " {\n" + statement + "\n return %r : " + type + " }")
                                 .str());
    mlir::PassManager manager(&context);
    manager.addPass(mlir::createCanonicalizerPass());
    EXPECT_TRUE(mlir::succeeded(manager.run(*module))) << diagnosticText();
    std::string text;
    for (mlir::Operation &op : functionOf(*module).getBody().front())
      text += print(&op) + "\n";
    return text;
  }
};

TEST_F(FoldTest, OperationsThatChangeNothing) {
  for (const char *statement :
       {"%r = array.reshape %x : <f32[8, 6]> -> <f32[8, 6]>", "%r = array.convert %x : <f32[8, 6]> -> <f32[8, 6]>",
        "%r = array.reduce sum %x dims [] : <f32[8, 6]> -> <f32[8, 6]>",
        "%r = array.transpose %x perm [0, 1] : <f32[8, 6]> -> <f32[8, 6]>",
        "%r = array.slice %x [0, 0] to [8, 6] step [1, 1] : <f32[8, 6]> -> <f32[8, 6]>",
        "%r = array.broadcast_in_dim %x dims [0, 1] : <f32[8, 6]> -> <f32[8, 6]>"})
    EXPECT_EQ(fold(statement, "<f32[8, 6]>"), "func.return %arg0 : !spmd.array<f32[8, 6]>\n") << statement;
}

// The same value under another sharding is another type: the reshard is kept.
TEST_F(FoldTest, ChangesOfShardingStay) {
  EXPECT_NE(fold("%r = array.reshape %x : <f32[8, 6]> -> <f32[8@_, 6]>", "<f32[8@_, 6]>").find("array.reshape"),
            std::string::npos);
}

// Parts that are moved alike are moved as one array.
TEST_F(FoldTest, PartsJoinedAgain) {
  std::string apart = "%a = array.slice %x [0, 0] to [8, 3] step [1, 1] : <f32[8, 6]> -> <f32[8, 3]>\n"
                      "%b = array.slice %x [0, 3] to [8, 6] step [1, 1] : <f32[8, 6]> -> <f32[8, 3]>\n";
  auto joined = [&](const char *first, const char *second) {
    return fold(apart + "%r = array.concatenate " + first + ", " + second +
                    " dim 1 : !spmd.array<f32[8, 3]>, !spmd.array<f32[8, 3]> -> <f32[8, 6]>",
                "<f32[8, 6]>");
  };
  EXPECT_EQ(joined("%a", "%b"), "func.return %arg0 : !spmd.array<f32[8, 6]>\n");
  EXPECT_NE(joined("%b", "%a").find("array.concatenate"), std::string::npos);
  std::string moved;
  for (const char *part : {"0", "1"})
    moved += llvm::formatv("%s{0} = array.slice %n [0, 0, {0}] to [4, 6, {1}] step [1, 1, 1] : <f32[4, 6, 2]> -> "
                           "<f32[4, 6, 1]>\n%p{0} = array.reshape %s{0} : <f32[4, 6, 1]> -> <f32[4, 6]>\n"
                           "%t{0} = array.transpose %p{0} perm [1, 0] : <f32[4, 6]> -> <f32[6, 4]>\n"
                           "%q{0} = array.reshape %t{0} : <f32[6, 4]> -> <f32[6, 2, 2, 1]>\n",
                           part, part[0] == '0' ? 1 : 2)
                 .str();
  EXPECT_EQ(fold("%n = array.reshape %x : <f32[8, 6]> -> <f32[4, 6, 2]>\n" + moved +
                     "%r = array.concatenate %q0, %q1 dim 3 : !spmd.array<f32[6, 2, 2, 1]>, "
                     "!spmd.array<f32[6, 2, 2, 1]> -> <f32[6, 2, 2, 2]>",
                 "<f32[6, 2, 2, 2]>"),
            "%0 = array.reshape %arg0 : <f32[8, 6]> -> <f32[4, 6, 2]>\n"
            "%1 = array.transpose %0 perm [1, 0, 2] : <f32[4, 6, 2]> -> <f32[6, 4, 2]>\n"
            "%2 = array.reshape %1 : <f32[6, 4, 2]> -> <f32[6, 2, 2, 2]>\n"
            "func.return %2 : !spmd.array<f32[6, 2, 2, 2]>\n");
}

// A transform of a transposed array is one along another dimension, and the inverse transposition behind it vanishes.
TEST_F(FoldTest, FftOfTranspose) {
  EXPECT_EQ(fold("%n = array.reshape %x : <f32[8, 6]> -> <f32[4, 6, 2]>\n"
                 "%t = array.transpose %n perm [1, 0, 2] : <f32[4, 6, 2]> -> <f32[6, 4, 2]>\n"
                 "%f = array.fft %t dim 1 length 4 divisor 1 : <f32[6, 4, 2]> -> <f32[6, 4, 2]>\n"
                 "%r = array.transpose %f perm [1, 0, 2] : <f32[6, 4, 2]> -> <f32[4, 6, 2]>",
                 "<f32[4, 6, 2]>"),
            "%0 = array.reshape %arg0 : <f32[8, 6]> -> <f32[4, 6, 2]>\n"
            "%1 = array.fft %0 dim 0 length 4 divisor 1 : <f32[4, 6, 2]> -> <f32[4, 6, 2]>\n"
            "func.return %1 : !spmd.array<f32[4, 6, 2]>\n");
}

TEST_F(FoldTest, SliceOfReverse) {
  const char *reverse = "%0 = array.reverse %x dims [0] : <f32[8, 6]> -> <f32[8, 6]>\n";
  EXPECT_EQ(fold(reverse + std::string("%r = array.slice %0 [1, 2] to [8, 6] step [3, 1] : <f32[8, 6]> -> <f32[3, 4]>"),
                 "<f32[3, 4]>"),
            "%0 = array.slice %arg0 [0, 2] to [7, 6] step [3, 1] : <f32[8, 6]> -> <f32[3, 4]>\n"
            "%1 = array.reverse %0 dims [0] : <f32[3, 4]> -> <f32[3, 4]>\n"
            "func.return %1 : !spmd.array<f32[3, 4]>\n");
}

// A scan along a reversed dimension becomes a reversed scan. Other dimensions are reversed as before; those reversed
// twice are not.
TEST_F(FoldTest, ReverseOfCumulative) {
  auto running = [&](const char *inner, const char *outer, const char *kind, const char *from) {
    return fold((llvm::Twine("%0 = array.reverse %x dims ") + inner +
                 " : <f32[8, 6]> -> <f32[8, 6]>\n%1 = array.cumulative " + kind + " %0 dim 0 " + from +
                 ": <f32[8, 6]> -> <f32[8, 6]>\n%r = array.reverse %1 dims " + outer + " : <f32[8, 6]> -> <f32[8, 6]>")
                    .str(),
                "<f32[8, 6]>");
  };
  auto returned = [](const char *value) {
    return (llvm::Twine("func.return ") + value + " : !spmd.array<f32[8, 6]>\n").str();
  };
  std::string reversed = "%0 = array.cumulative sum %arg0 dim 0 reversed : <f32[8, 6]> -> <f32[8, 6]>\n";
  EXPECT_EQ(running("[0]", "[0]", "sum", ""), reversed + returned("%0"));
  EXPECT_EQ(running("[0, 1]", "[0, 1]", "sum", ""), reversed + returned("%0"));
  EXPECT_EQ(running("[0]", "[0]", "max", "reversed "),
            "%0 = array.cumulative max %arg0 dim 0 : <f32[8, 6]> -> <f32[8, 6]>\n" + returned("%0"));
  std::string other = reversed + "%1 = array.reverse %0 dims [1] : <f32[8, 6]> -> <f32[8, 6]>\n" + returned("%1");
  EXPECT_EQ(running("[0]", "[0, 1]", "sum", ""), other);
  EXPECT_EQ(running("[0, 1]", "[0]", "sum", ""), other);
  // Along another dimension, or from one side only, the reverse is kept.
  EXPECT_NE(running("[1]", "[1]", "sum", "").find("reverse %"), std::string::npos);
  EXPECT_NE(running("[0]", "[1]", "sum", "").find("reverse %"), std::string::npos);
}

// The slice has one element of padding on the right, and lacks one element of the array on the left.
TEST_F(FoldTest, SliceOfPad) {
  const char *pad =
      "%0 = array.pad %x with %s low [1, 0] high [1, 0] interior [0, 0] : <f32[8, 6]>, <f32[]> -> <f32[10, 6]>\n";
  EXPECT_EQ(
      fold(pad + std::string("%r = array.slice %0 [2, 0] to [10, 6] step [1, 1] : <f32[10, 6]> -> <f32[8, 6]>"),
           "<f32[8, 6]>"),
      "%0 = array.pad %arg0 with %arg2 low [-1, 0] high [1, 0] interior [0, 0] : <f32[8, 6]>, <f32[]> -> <f32[8, 6]>\n"
      "func.return %0 : !spmd.array<f32[8, 6]>\n");
  EXPECT_EQ(fold(pad + std::string("%r = array.slice %0 [2, 1] to [9, 6] step [1, 1] : <f32[10, 6]> -> <f32[7, 5]>"),
                 "<f32[7, 5]>"),
            "%0 = array.slice %arg0 [1, 1] to [8, 6] step [1, 1] : <f32[8, 6]> -> <f32[7, 5]>\n"
            "func.return %0 : !spmd.array<f32[7, 5]>\n");
  for (const char *slice : {"array.slice %0 [0, 0] to [1, 6] step [1, 1] : <f32[10, 6]> -> <f32[1, 6]>",
                            "array.slice %0 [9, 0] to [10, 6] step [1, 1] : <f32[10, 6]> -> <f32[1, 6]>"})
    EXPECT_NE(fold(pad + ("%r = " + std::string(slice)), "<f32[1, 6]>").find("array.slice"), std::string::npos)
        << slice;
}

// Two arrays padded with zeros at opposite ends: the gradients of two parts, with or without other addends.
TEST_F(FoldTest, SumOfParts) {
  auto sum = [&](const char *edgesOfSecond, const char *sums) {
    return fold(
        (llvm::Twine("%z = array.constant dense<0.0> : tensor<f32> -> <f32[]>\n"
                     "%0 = array.slice %x [5, 0] to [8, 6] step [1, 1] : <f32[8, 6]> -> <f32[3, 6]>\n"
                     "%1 = array.slice %x [0, 0] to [5, 6] step [1, 1] : <f32[8, 6]> -> <f32[5, 6]>\n"
                     "%2 = array.pad %0 with %z low [0, 0] high [5, 0] interior [0, 0] : <f32[3, 6]>, <f32[]> -> "
                     "<f32[8, 6]>\n%3 = array.pad %1 with %z ") +
         edgesOfSecond + " interior [0, 0] : <f32[5, 6]>, <f32[]> -> <f32[8, 6]>\n" + sums)
            .str(),
        "<f32[8, 6]>");
  };
  const char *behind = "low [3, 0] high [0, 0]";
  std::string joined =
      "%2 = array.concatenate %0, %1 dim 0 : !spmd.array<f32[3, 6]>, !spmd.array<f32[5, 6]> -> <f32[8, 6]>\n";
  for (const char *sums : {"%r = array.add %2, %3 : <f32[8, 6]>", "%r = array.add %3, %2 : <f32[8, 6]>"})
    EXPECT_NE(sum(behind, sums).find(joined + "func.return %2"), std::string::npos) << sums;
  std::string amongOthers = sum(behind, "%4 = array.sin %x : <f32[8, 6]>\n%5 = array.add %4, %2 : <f32[8, 6]>\n"
                                        "%6 = array.cos %x : <f32[8, 6]>\n%7 = array.add %5, %6 : <f32[8, 6]>\n"
                                        "%r = array.add %7, %3 : <f32[8, 6]>");
  EXPECT_NE(amongOthers.find("array.concatenate"), std::string::npos) << amongOthers;
  EXPECT_EQ(amongOthers.find("array.pad"), std::string::npos) << amongOthers;
  // They overlap, or the sum is used.
  EXPECT_NE(sum("low [2, 0] high [1, 0]", "%r = array.add %2, %3 : <f32[8, 6]>").find("array.add"), std::string::npos);
  EXPECT_NE(sum(behind, "%4 = array.sin %x : <f32[8, 6]>\n%5 = array.add %4, %2 : <f32[8, 6]>\n"
                        "%6 = array.add %5, %3 : <f32[8, 6]>\n%r = array.multiply %5, %6 : <f32[8, 6]>")
                .find("array.pad"),
            std::string::npos);
}

TEST_F(FoldTest, ReshapeOfReshape) {
  EXPECT_EQ(fold("%0 = array.reshape %x : <f32[8, 6]> -> <f32[48]>\n"
                 "%r = array.reshape %0 : <f32[48]> -> <f32[6, 8]>",
                 "<f32[6, 8]>"),
            "%0 = array.reshape %arg0 : <f32[8, 6]> -> <f32[6, 8]>\nfunc.return %0 : !spmd.array<f32[6, 8]>\n");
}

TEST_F(FoldTest, Splats) {
  EXPECT_EQ(fold("%0 = array.constant dense<2.5> : tensor<f32> -> <f32[]>\n"
                 "%1 = array.broadcast_in_dim %0 dims [] : <f32[]> -> <f32[2, 3]>\n"
                 "%2 = array.transpose %1 perm [1, 0] : <f32[2, 3]> -> <f32[3, 2]>\n"
                 "%3 = array.slice %2 [1, 0] to [3, 2] step [1, 1] : <f32[3, 2]> -> <f32[2, 2]>\n"
                 "%r = array.convert %3 : <f32[2, 2]> -> <i32[2, 2]>",
                 "<i32[2, 2]>"),
            "%0 = array.constant dense<2> : tensor<2x2xi32> -> <i32[2, 2]>\nfunc.return %0 : !spmd.array<i32[2, 2]>\n");
}

TEST_F(FoldTest, EmptyArraysBecomeConstants) {
  EXPECT_EQ(fold("%r = array.sin %e : <f32[8, 0]>", "<f32[8, 0]>"),
            "%0 = array.constant dense<0.000000e+00> : tensor<8x0xf32> -> <f32[8, 0]>\n"
            "func.return %0 : !spmd.array<f32[8, 0]>\n");
  EXPECT_EQ(
      fold("%r = array.reduce min %e dims [1] : <f32[8, 0]> -> <f32[8]>", "<f32[8]>"),
      "%0 = array.constant dense<0x7F800000> : tensor<8xf32> -> <f32[8]>\nfunc.return %0 : !spmd.array<f32[8]>\n");
  EXPECT_EQ(fold("%r = array.dot_general %e, %e contract [1] x [1] batch [] x [] : <f32[8, 0]>, <f32[8, 0]> -> "
                 "<f32[8, 8]>",
                 "<f32[8, 8]>"),
            "%0 = array.constant dense<0.000000e+00> : tensor<8x8xf32> -> <f32[8, 8]>\n"
            "func.return %0 : !spmd.array<f32[8, 8]>\n");
}

TEST_F(FoldTest, ReductionOfOneElementIsAReshape) {
  EXPECT_EQ(fold("%0 = array.reshape %x : <f32[8, 6]> -> <f32[8, 1, 6]>\n"
                 "%1 = array.sin %0 : <f32[8, 1, 6]>\n"
                 "%r = array.reduce prod %1 dims [1] : <f32[8, 1, 6]> -> <f32[8, 6]>",
                 "<f32[8, 6]>"),
            "%0 = array.reshape %arg0 : <f32[8, 6]> -> <f32[8, 1, 6]>\n"
            "%1 = array.sin %0 : <f32[8, 1, 6]>\n"
            "%2 = array.reshape %1 : <f32[8, 1, 6]> -> <f32[8, 6]>\n"
            "func.return %2 : !spmd.array<f32[8, 6]>\n");
}

TEST_F(FoldTest, EmptyPartsVanish) {
  EXPECT_EQ(fold("%r = array.concatenate %e, %x dim 1 : !spmd.array<f32[8, 0]>, !spmd.array<f32[8, 6]> -> <f32[8, 6]>",
                 "<f32[8, 6]>"),
            "func.return %arg0 : !spmd.array<f32[8, 6]>\n");
  EXPECT_EQ(fold("%r = array.pad %e with %s low [0, 1] high [0, 2] interior [0, 0] : <f32[8, 0]>, <f32[]> -> "
                 "<f32[8, 3]>",
                 "<f32[8, 3]>"),
            "%0 = array.broadcast_in_dim %arg2 dims [] : <f32[]> -> <f32[8, 3]>\n"
            "func.return %0 : !spmd.array<f32[8, 3]>\n");
}

// Neutral numbers, as in initial cotangents, are folded; operations that are not exact in every bit are kept.
TEST_F(FoldTest, NeutralNumbers) {
  std::string one = "%c = array.constant dense<1.0> : tensor<8x6xf32> -> <f32[8, 6]>\n";
  std::string zero = "%c = array.constant dense<0.0> : tensor<8x6xf32> -> <f32[8, 6]>\n";
  for (const std::string &text :
       {one + "%r = array.multiply %x, %c : <f32[8, 6]>", one + "%r = array.multiply %c, %x : <f32[8, 6]>",
        one + "%r = array.divide %x, %c : <f32[8, 6]>", zero + "%r = array.subtract %x, %c : <f32[8, 6]>"})
    EXPECT_EQ(fold(text, "<f32[8, 6]>"), "func.return %arg0 : !spmd.array<f32[8, 6]>\n") << text;
  for (const std::string &text :
       {zero + "%r = array.add %x, %c : <f32[8, 6]>", zero + "%r = array.multiply %x, %c : <f32[8, 6]>",
        zero + "%r = array.subtract %c, %x : <f32[8, 6]>", one + "%r = array.divide %c, %x : <f32[8, 6]>"})
    EXPECT_NE(fold(text, "<f32[8, 6]>").find("array.constant"), std::string::npos) << text;
}

TEST_F(FoldTest, OperationsOnNumbers) {
  std::string c = "%c = array.constant dense<0.1> : tensor<8x6xf32> -> <f32[8, 6]>\n"
                  "%d = array.constant dense<7.0> : tensor<8x6xf32> -> <f32[8, 6]>\n";
  // 0.1 * 7 is 0.7 in f32, and not in f64.
  EXPECT_EQ(fold(c + "%r = array.multiply %c, %d : <f32[8, 6]>", "<f32[8, 6]>"),
            "%0 = array.constant dense<0.699999988> : tensor<8x6xf32> -> <f32[8, 6]>\n"
            "func.return %0 : !spmd.array<f32[8, 6]>\n");
  EXPECT_EQ(fold(c + "%r = array.compare lt %c, %d : <f32[8, 6]>, <f32[8, 6]> -> <bool[8, 6]>", "<bool[8, 6]>"),
            "%0 = array.constant dense<true> : tensor<8x6xi1> -> <bool[8, 6]>\n"
            "func.return %0 : !spmd.array<bool[8, 6]>\n");
  EXPECT_NE(fold(c + "%r = array.sin %c : <f32[8, 6]>", "<f32[8, 6]>").find("array.sin"), std::string::npos);
}

// Positions of a dimension of 6 are from 0 to 5, for every operation that makes them, and so are subsets of them.
TEST_F(FoldTest, ComparisonsOfPositions) {
  std::string argsort = "%0 = array.argsort %x dim 1 descending = false : <f32[8, 6]> -> <i32[8, 6]>\n";
  std::string iota = "%0 = array.iota dim 1 : <i32[8, 6]>\n";
  std::string largest = "%1 = array.arg_reduce %x max = true dim 1 : <f32[8, 6]> -> <i32[8]>\n"
                        "%0 = array.broadcast_in_dim %1 dims [0] : <i32[8]> -> <i32[8, 6]>\n";
  std::string shifted = argsort + "%2 = array.add %0, %0 : <i32[8, 6]>\n";
  auto compare = [&](const std::string &positions, const std::string &what, int number, const char *value = "%0") {
    return fold(positions + "%c = array.constant dense<" + std::to_string(number) +
                    "> : tensor<8x6xi32> -> <i32[8, 6]>\n%r = array.compare " + what + " " + value +
                    ", %c : <i32[8, 6]>, <i32[8, 6]> -> <bool[8, 6]>",
                "<bool[8, 6]>");
  };
  auto constant = [](bool value) {
    return std::string("%0 = array.constant dense<") + (value ? "true" : "false") +
           "> : tensor<8x6xi1> -> <bool[8, 6]>\nfunc.return %0 : !spmd.array<bool[8, 6]>\n";
  };
  struct Known {
    const char *what;
    int number;
    bool answer;
  };
  for (const std::string &positions : {argsort, iota, largest}) {
    for (Known known : {Known{"lt", 0, false},
                        {"lt", 6, true},
                        {"le", -1, false},
                        {"le", 5, true},
                        {"gt", -1, true},
                        {"gt", 5, false},
                        {"ge", 0, true},
                        {"ge", 6, false},
                        {"eq", 6, false},
                        {"eq", -1, false},
                        {"ne", 6, true},
                        {"ne", -7, true}})
      EXPECT_EQ(compare(positions, known.what, known.number), constant(known.answer))
          << positions << known.what << known.number;
    for (Known unknown : {Known{"lt", 1, false},
                          {"lt", 5, false},
                          {"le", 0, false},
                          {"le", 4, false},
                          {"gt", 0, false},
                          {"gt", 4, false},
                          {"ge", 1, false},
                          {"ge", 5, false},
                          {"eq", 0, false},
                          {"ne", 5, false}})
      EXPECT_NE(compare(positions, unknown.what, unknown.number).find("array.compare"), std::string::npos)
          << positions << unknown.what << unknown.number;
  }
  EXPECT_NE(compare(shifted, "lt", 6, "%2").find("array.compare"), std::string::npos);
}

TEST_F(FoldTest, SelectionsByOneValue) {
  auto select = [&](const char *value, const char *type) {
    return fold(std::string("%p = array.constant dense<") + value +
                    "> : tensor<8x6xi1> -> <bool[8, 6]>\n%z = array.sin %x : <f32[8, 6]>\n"
                    "%r = array.select %p, %x, %z : <bool[8, 6]>, <f32[8, 6]>, <f32[8, 6]> -> " +
                    type,
                type);
  };
  EXPECT_EQ(select("true", "<f32[8, 6]>"), "func.return %arg0 : !spmd.array<f32[8, 6]>\n");
  EXPECT_EQ(select("false", "<f32[8, 6]>"),
            "%0 = array.sin %arg0 : <f32[8, 6]>\nfunc.return %0 : !spmd.array<f32[8, 6]>\n");
  // An annotation is kept.
  EXPECT_NE(select("true", "<f32[8@_, 6]>").find("array.select"), std::string::npos);
}

TEST_F(FoldTest, CarriesThatNobodyNeeds) {
  // Only the third carry reads the second, and no operation reads the third; the first is a result.
  EXPECT_EQ(fold("%r, %u, %v = array.for 0 to 4 (%x, %x, %x) {\n"
                 "^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8, 6]>, %d: !spmd.array<f32[8, 6]>, %f: "
                 "!spmd.array<f32[8, 6]>):\n"
                 "%1 = array.sin %c : <f32[8, 6]>\n%2 = array.cos %d : <f32[8, 6]>\n"
                 "%3 = array.multiply %2, %f : <f32[8, 6]>\n"
                 "array.yield %1, %2, %3 : !spmd.array<f32[8, 6]>, !spmd.array<f32[8, 6]>, !spmd.array<f32[8, 6]>\n"
                 "} : (!spmd.array<f32[8, 6]>, !spmd.array<f32[8, 6]>, !spmd.array<f32[8, 6]>) -> "
                 "(!spmd.array<f32[8, 6]>, !spmd.array<f32[8, 6]>, !spmd.array<f32[8, 6]>)",
                 "<f32[8, 6]>"),
            "%0 = array.for 0 to 4(%arg0) {\n"
            "^bb0(%arg3: !spmd.array<i32[]>, %arg4: !spmd.array<f32[8, 6]>):\n"
            "  %1 = array.sin %arg4 : <f32[8, 6]>\n"
            "  array.yield %1 : !spmd.array<f32[8, 6]>\n"
            "} : (!spmd.array<f32[8, 6]>) -> !spmd.array<f32[8, 6]>\n"
            "func.return %0 : !spmd.array<f32[8, 6]>\n");
}

} // namespace
