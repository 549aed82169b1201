//===- PlacementTest.cpp - positions, slices, shared memory ---------------===//
//
// Kernels that know where their device stands (all_slice, shard_start, shard_size, axis_index) run for every device of
// a mesh, against the arithmetic of runtime/support/Sharding.h; and values that share memory.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"

#include "ir/spmd/SpmdTypes.h"
#include "runtime/support/Sharding.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <set>

using namespace mlir;
using namespace spmdc;

TEST(Placement, EveryDeviceTakesItsPiece) {
  spmd::MeshShape mesh{{{"a", 3}, {"b", 4}}};
  spmd::AxisRef a{"a"}, b{"b"}, half{"b", 2, 2};
  struct Case {
    std::string axes;
    std::vector<spmd::AxisRef> refs;
    int64_t size;
  };
  for (const Case &test : {Case{"<a>", {a}, 9}, Case{"<a>", {a}, 10}, Case{"<a, b>", {a, b}, 25},
                           Case{"<b, a>", {b, a}, 7}, Case{"<b:(2)2>", {half}, 9}, Case{"<a, b>", {a, b}, 3}}) {
    SCOPED_TRACE(test.axes + " of " + std::to_string(test.size));
    std::vector<int64_t> sizes;
    for (const spmd::AxisRef &axis : test.refs)
      sizes.push_back(axis.sizeIn(mesh));
    int64_t piece = spmd::localDimSize(test.size, sizes);
    std::string n = std::to_string(test.size), whole = "<i32[" + n + ", 2]>",
                part = "<i32[" + std::to_string(piece) + ", 2]>";
    std::string text =
        "module attributes {spmd.mesh = #spmd.mesh<m, a=3, b=4>} { func.func @main(%x: !spmd.array" + whole +
        ") -> (!spmd.array" + part + ", !spmd.array<i32[]>, !spmd.array<i32[]>, !spmd.array<i32[]>) {\n" +
        "%0 = spmd.all_slice %x dim 0 over " + test.axes + " : " + whole + " -> " + part + "\n" +
        "%1 = array.negate %0 : " + part + "\n%2 = spmd.shard_start " + n + " over " + test.axes +
        " : <i32[]>\n%3 = spmd.shard_size " + n + " over " + test.axes + " : <i32[]>\n%4 = spmd.axis_index " +
        test.axes + " : <i32[]>\nreturn %1, %2, %3, %4 : !spmd.array" + part +
        ", !spmd.array<i32[]>, !spmd.array<i32[]>, !spmd.array<i32[]>\n} }";
    std::unique_ptr<MLIRContext> context = makeTestContext();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
    ASSERT_TRUE(module) << text;
    CompiledProgram program(*module);
    ASSERT_TRUE(program.isGood());
    Tensor argument({test.size, 2}, IntegerType::get(context.get(), 32));
    for (int64_t i = 0; i < argument.size(); ++i)
      argument.elements[i] = Scalar::ofInt(i + 1);
    for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
      std::vector<int64_t> coordinates = mesh.coordinates(device), positions;
      int64_t index = 0;
      for (const spmd::AxisRef &axis : test.refs) {
        positions.push_back(axis.coordinateIn(mesh, coordinates));
        index = index * axis.sizeIn(mesh) + positions.back();
      }
      spmd::ShardRange range = spmd::shardRange(test.size, sizes, positions);
      std::vector<Tensor> results = program.run({argument}, RangeSplit::Whole, coordinates);
      ASSERT_EQ(results.size(), 4u);
      for (int64_t i = 0; i < range.size * 2; ++i)
        EXPECT_EQ(results[0].elements[i].i, -(range.start * 2 + i + 1)) << "device " << device << " element " << i;
      EXPECT_EQ(results[1].elements[0].i, range.start) << device;
      EXPECT_EQ(results[2].elements[0].i, range.size) << device;
      EXPECT_EQ(results[3].elements[0].i, index) << device;
    }
  }
}

TEST(Placement, OutputsTakeThePlaceOfDyingInputs) {
  // Two kernels that cannot be one (the second reads the first along other rows) with element-wise work between them.
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    func.func @main(%x: !spmd.array<f32[64, 64]>) -> (!spmd.array<f32[64, 64]>) {
      %0 = plan.launch @double(%x) : (!spmd.array<f32[64, 64]>) -> !spmd.array<f32[64, 64]>
      %1 = plan.launch @normalize(%0) : (!spmd.array<f32[64, 64]>) -> !spmd.array<f32[64, 64]>
      %2 = plan.launch @double(%1) : (!spmd.array<f32[64, 64]>) -> !spmd.array<f32[64, 64]>
      return %2 : !spmd.array<f32[64, 64]>
    }
    plan.kernel @double(%x: !spmd.array<f32[64, 64]>) attributes {extent = 4096 : i64, grain = 1 : i64} {
      %0 = array.add %x, %x : <f32[64, 64]>
      plan.return %0 : !spmd.array<f32[64, 64]>
    }
    plan.kernel @normalize(%x: !spmd.array<f32[64, 64]>) attributes {extent = 64 : i64, grain = 1 : i64} {
      %m = array.reduce max %x dims [1] : <f32[64, 64]> -> <f32[64]>
      %b = array.broadcast_in_dim %m dims [0] : <f32[64]> -> <f32[64, 64]>
      %0 = array.subtract %x, %b : <f32[64, 64]>
      plan.return %0 : !spmd.array<f32[64, 64]>
    })",
                                                             context.get());
  ASSERT_TRUE(module);
  (*module)->setAttr("spmd.stage", StringAttr::get(context.get(), "kernels"));
  CompiledProgram program(*module);
  ASSERT_TRUE(program.isGood());
  EXPECT_EQ(program.artifact.plan.arenaBytes, 64 * 64 * 4);
  Tensor argument = makeInput({64, 64}, Float32Type::get(context.get()), 3, InputKind::Ordinary);
  for (RangeSplit split : {RangeSplit::Whole, RangeSplit::Thirds}) {
    std::vector<Tensor> results = program.run({argument}, split);
    for (int64_t row = 0; row < 64; ++row) {
      double largest = argument.elements[row * 64].f;
      for (int64_t i = 0; i < 64; ++i)
        largest = std::max(largest, argument.elements[row * 64 + i].f);
      for (int64_t i = 0; i < 64; ++i)
        ASSERT_NEAR(results[0].elements[row * 64 + i].f, 4 * (argument.elements[row * 64 + i].f - largest), 1e-4);
    }
  }
}

// The first output takes the place of the input that the second one still has to read in the same iteration.
TEST(Placement, EverythingIsReadBeforeAnythingIsWritten) {
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    func.func @main(%x: !spmd.array<i32[100]>) -> (!spmd.array<i32[100]>, !spmd.array<i32[100]>) {
      %0 = plan.launch @double(%x) : (!spmd.array<i32[100]>) -> !spmd.array<i32[100]>
      %1:2 = plan.launch @both(%0) : (!spmd.array<i32[100]>) -> (!spmd.array<i32[100]>, !spmd.array<i32[100]>)
      %2 = plan.launch @double(%1#0) : (!spmd.array<i32[100]>) -> !spmd.array<i32[100]>
      return %1#1, %2 : !spmd.array<i32[100]>, !spmd.array<i32[100]>
    }
    plan.kernel @double(%x: !spmd.array<i32[100]>) attributes {extent = 100 : i64, grain = 1 : i64} {
      %0 = array.add %x, %x : <i32[100]>
      plan.return %0 : !spmd.array<i32[100]>
    }
    plan.kernel @both(%x: !spmd.array<i32[100]>) attributes {extent = 100 : i64, grain = 1 : i64} {
      %0 = array.negate %x : <i32[100]>
      %1 = array.multiply %x, %x : <i32[100]>
      plan.return %0, %1 : !spmd.array<i32[100]>, !spmd.array<i32[100]>
    })",
                                                             context.get());
  ASSERT_TRUE(module);
  (*module)->setAttr("spmd.stage", StringAttr::get(context.get(), "kernels"));
  CompiledProgram program(*module);
  ASSERT_TRUE(program.isGood());
  ASSERT_EQ(program.artifact.plan.arenaBytes, 400);
  Tensor argument({100}, IntegerType::get(context.get(), 32));
  for (int64_t i = 0; i < 100; ++i)
    argument.elements[i] = Scalar::ofInt(i - 50);
  std::vector<Tensor> results = program.run({argument});
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(results[0].elements[i].i, 4 * (i - 50) * (i - 50));
    EXPECT_EQ(results[1].elements[i].i, -4 * (i - 50));
  }
}
