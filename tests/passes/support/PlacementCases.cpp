//===- PlacementCases.cpp - positions, masks, shared memory ---------------===//

#include "ir/spmd/SpmdTypes.h"
#include "runtime/sharding/Sharding.h"
#include "tests/passes/support/ProgramCases.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace spmdc {

void checkShards(const MakeProgram &make) {
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
    std::unique_ptr<PlannedProgram> program = make(*module);
    ASSERT_TRUE(program->isGood());
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
      for (unsigned way = 0; way < program->getVariantCount(); ++way) {
        std::vector<Tensor> results = program->run({argument}, way, coordinates);
        ASSERT_EQ(results.size(), 4u);
        for (int64_t i = 0; i < range.size * 2; ++i)
          EXPECT_EQ(results[0].elements[i].i, -(range.start * 2 + i + 1)) << "device " << device << " element " << i;
        EXPECT_EQ(results[1].elements[0].i, range.start) << device;
        EXPECT_EQ(results[2].elements[0].i, range.size) << device;
        EXPECT_EQ(results[3].elements[0].i, index) << device;
      }
    }
  }
}

void checkMasks(const MakeProgram &make) {
  // f32[rows@a, columns@b] of the mesh; sizes with a short last shard, with an empty one, and with large ones.
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{10, 70}, {4, 6}, {3, 1000}, {13, 3}}) {
    int64_t m = spmd::localDimSize(rows, {3}), n = spmd::localDimSize(columns, {4});
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    std::string shape = std::to_string(m) + ", " + std::to_string(n), x = "<f32[" + shape + "]>",
                i = "<i32[" + shape + "]>", flag = "<bool[" + shape + "]>", row = "<f32[" + std::to_string(m) + "]>",
                column = "<f32[" + std::to_string(n) + "]>";
    std::string text = "module attributes {spmd.mesh = #spmd.mesh<m, a=3, b=4>} { func.func @main(%x: !spmd.array" + x +
                       ") -> (!spmd.array" + row + ", !spmd.array" + column + ", !spmd.array<f32[]>, !spmd.array" +
                       row + ") {\n";
    // Replaces elements outside of the array by the neutral value of the reduction.
    auto mask = [&](const std::string &name, int64_t size, int dim, const std::string &axis, const std::string &value) {
      text += "%" + name + "0 = array.iota dim " + std::to_string(dim) + " : " + i + "\n%" + name +
              "1 = spmd.shard_size " + std::to_string(size) + " over <" + axis + "> : <i32[]>\n%" + name +
              "2 = array.broadcast_in_dim %" + name + "1 dims [] : <i32[]> -> " + i + "\n%" + name +
              "3 = array.compare lt %" + name + "0, %" + name + "2 : " + i + ", " + i + " -> " + flag + "\n%" + name +
              "4 = array.constant dense<" + value + "> : tensor<" + std::to_string(m) + "x" + std::to_string(n) +
              "xf32> -> " + x + "\n%" + name + " = array.select %" + name + "3, %x, %" + name + "4 : " + flag + ", " +
              x + ", " + x + " -> " + x + "\n";
    };
    mask("r", columns, 1, "b", "0xFF800000");
    mask("c", rows, 0, "a", "1.0");
    mask("s", columns, 1, "b", "0.0");
    text += "%max = array.reduce max %r dims [1] : " + x + " -> " + row + "\n";
    text += "%prod = array.reduce prod %c dims [0] : " + x + " -> " + column + "\n";
    text += "%sum = array.reduce sum %s dims [0, 1] : " + x + " -> <f32[]>\n";
    text += "%at = spmd.shard_start " + std::to_string(rows) + " over <a> : <i32[]>\n";
    text += "%atf = array.convert %at : <i32[]> -> <f32[]>\n";
    text += "%atb = array.broadcast_in_dim %atf dims [] : <f32[]> -> " + row + "\n";
    text += "%moved = array.add %max, %atb : " + row + "\n";
    text += "return %max, %prod, %sum, %moved : !spmd.array" + row + ", !spmd.array" + column +
            ", !spmd.array<f32[]>, !spmd.array" + row + "\n} }";
    ProgramCheck options;
    options.inputs = InputKind::Exact;
    checkKernels(text, options, make);
  }
}

void checkDyingInputs(const MakeProgram &make) {
  // A scan cannot be in one kernel with its readers.
  std::string text = R"(func.func @main(%x: !spmd.array<i32[64, 64]>) -> !spmd.array<i32[64, 64]> {
    %0 = array.cumulative sum %x dim 1 : <i32[64, 64]> -> <i32[64, 64]>
    %1 = array.cumulative max %0 dim 0 : <i32[64, 64]> -> <i32[64, 64]>
    %2 = array.cumulative min %1 dim 1 : <i32[64, 64]> -> <i32[64, 64]>
    %3 = array.cumulative sum %2 dim 0 : <i32[64, 64]> -> <i32[64, 64]>
    return %3 : !spmd.array<i32[64, 64]>
  })";
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  ASSERT_TRUE(module);
  EXPECT_EQ(make(*module)->artifact.plan.arenaBytes, 64 * 64 * 4);
  checkProgram(text, {}, make);
}

} // namespace spmdc
