//===- ProcessGridEvaluatorTest.cpp - a program on all devices ------------===//
//
// Every collective on shards written by hand, with expected results, including uneven sizes.
//
//===----------------------------------------------------------------------===//

#include "ir/evaluate/ProcessGridEvaluator.h"
#include "tests/ir/support/IrTest.h"

#include <cmath>

using namespace spmdc;

namespace {

class ProcessGridEvaluatorTest : public IrTest {
protected:
  /// Runs a function of this body on the mesh, where device d's only argument is arguments[d].
  DeviceTensors run(llvm::StringRef mesh, llvm::StringRef argument, llvm::StringRef result, llvm::StringRef body,
                    const DeviceTensors &arguments) {
    std::string text =
        ("module attributes {spmd.mesh = #spmd.mesh<m" + mesh + ">} {\nfunc.func @main(%x: !spmd.array<" + argument +
         ">) -> !spmd.array<" + result + "> {\n" + body + "\nreturn %y : !spmd.array<" + result + ">\n}\n}")
            .str();
    auto module = parseValid(text);
    if (!module)
      return {};
    auto results = ProcessGridEvaluator(getMesh(*module)).evaluate(functionOf(*module), {arguments});
    EXPECT_TRUE(mlir::succeeded(results)) << diagnosticText();
    return mlir::succeeded(results) ? (*results)[0] : DeviceTensors();
  }

  /// Device d holds `width` elements 10 * d, 10 * d + 1, ...
  DeviceTensors tens(int64_t devices, int64_t width) {
    DeviceTensors tensors;
    for (int64_t device = 0; device < devices; ++device) {
      std::vector<double> values;
      for (int64_t i = 0; i < width; ++i)
        values.push_back(static_cast<double>(10 * device + i));
      tensors.push_back(f32({width}, values));
    }
    return tensors;
  }
};

using Row = std::vector<double>;

TEST_F(ProcessGridEvaluatorTest, AllReduceSumsOverOneAxisOnly) {
  auto results =
      run(", a=2, b=2", "f32[2]", "f32[2]", "%y = spmd.all_reduce sum %x over <b> : <f32[2]> -> <f32[2]>", tens(4, 2));
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(floatsOf(results[0]), (Row{10, 12}));
  EXPECT_EQ(floatsOf(results[1]), (Row{10, 12}));
  EXPECT_EQ(floatsOf(results[2]), (Row{50, 52}));
  EXPECT_EQ(floatsOf(results[3]), (Row{50, 52}));
}

// (1e8 + 1) + (-1e8 + 1) in f32: the tree adds neighbours first, so that both ones are lost; from left to right one
// would remain.
TEST_F(ProcessGridEvaluatorTest, AllReduceAddsInABalancedTree) {
  DeviceTensors arguments;
  for (double value : {1e8, 1.0, -1e8, 1.0})
    arguments.push_back(f32({1}, {value}));
  auto results =
      run(", a=4", "f32[1]", "f32[1]", "%y = spmd.all_reduce sum %x over <a> : <f32[1]> -> <f32[1]>", arguments);
  for (const Tensor &result : results)
    EXPECT_EQ(result.elements[0].f, 0);
}

// Three devices: the tree is (d0 + d1) + d2.
TEST_F(ProcessGridEvaluatorTest, AllReduceOfThreeSplitsAtTwo) {
  DeviceTensors arguments;
  for (double value : {1.0, 1e8, -1e8})
    arguments.push_back(f32({1}, {value}));
  auto results =
      run(", a=3", "f32[1]", "f32[1]", "%y = spmd.all_reduce sum %x over <a> : <f32[1]> -> <f32[1]>", arguments);
  EXPECT_EQ(results[0].elements[0].f, 0);
}

TEST_F(ProcessGridEvaluatorTest, AllReduceMaxPropagatesNan) {
  DeviceTensors arguments = {f32({2}, {1, NAN}), f32({2}, {3, 5})};
  auto results =
      run(", a=2", "f32[2]", "f32[2]", "%y = spmd.all_reduce max %x over <a> : <f32[2]> -> <f32[2]>", arguments);
  EXPECT_EQ(results[1].elements[0].f, 3);
  EXPECT_TRUE(std::isnan(results[1].elements[1].f));
}

// Five elements on three devices are sharded as 2 + 2 + 1; the last device's padding is not gathered.
TEST_F(ProcessGridEvaluatorTest, AllGatherDropsPadding) {
  auto results =
      run(", a=3", "f32[2]", "f32[5]", "%y = spmd.all_gather %x dim 0 over <a> : <f32[2]> -> <f32[5]>", tens(3, 2));
  for (const Tensor &result : results)
    EXPECT_EQ(floatsOf(result), (Row{0, 1, 10, 11, 20}));
}

// Over (b, a) of a 2 x 2 mesh with b major: device (a=1, b=0) holds the second shard.
TEST_F(ProcessGridEvaluatorTest, AllGatherFollowsTheOrderOfTheAxes) {
  auto results = run(", a=2, b=2", "f32[1]", "f32[4]",
                     "%y = spmd.all_gather %x dim 0 over <b, a> : <f32[1]> -> <f32[4]>", tens(4, 1));
  EXPECT_EQ(floatsOf(results[0]), (Row{0, 20, 10, 30}));
}

TEST_F(ProcessGridEvaluatorTest, AllSliceKeepsTheOwnPieceAndPoisonsTheRest) {
  DeviceTensors arguments(3, f32({4}, {0, 1, 2, 3}));
  auto results =
      run(", a=3", "f32[4]", "f32[2]", "%y = spmd.all_slice %x dim 0 over <a> : <f32[4]> -> <f32[2]>", arguments);
  EXPECT_EQ(floatsOf(results[1]), (Row{2, 3}));
  EXPECT_TRUE(std::isnan(results[2].elements[0].f) && std::isnan(results[2].elements[1].f));
}

TEST_F(ProcessGridEvaluatorTest, ReduceScatterIsAllReduceThenSlice) {
  auto results = run(", a=2", "f32[3]", "f32[2]",
                     "%y = spmd.reduce_scatter sum %x dim 0 over <a> : <f32[3]> -> <f32[2]>", tens(2, 3));
  EXPECT_EQ(floatsOf(results[0]), (Row{10, 12}));
  EXPECT_EQ(results[1].elements[0].f, 14);
  EXPECT_TRUE(std::isnan(results[1].elements[1].f));
}

// A 2 x 3 array, rows on devices, becomes columns on devices: three columns are 2 + 1.
TEST_F(ProcessGridEvaluatorTest, AllToAllTurnsRowsIntoColumns) {
  DeviceTensors arguments = {f32({1, 3}, {0, 1, 2}), f32({1, 3}, {3, 4, 5})};
  auto results = run(", a=2", "f32[1, 3]", "f32[2, 2]",
                     "%y = spmd.all_to_all %x split 1 concat 0 over <a> : <f32[1, 3]> -> <f32[2, 2]>", arguments);
  EXPECT_EQ(floatsOf(results[0]), (Row{0, 1, 3, 4}));
  EXPECT_EQ(results[1].elements[0].f, 2);
  EXPECT_EQ(results[1].elements[2].f, 5);
  EXPECT_TRUE(std::isnan(results[1].elements[1].f));
}

TEST_F(ProcessGridEvaluatorTest, CollectivePermuteSendsZerosWhereNobodySends) {
  auto results = run(", a=3", "f32[1]", "f32[1]",
                     "%y = spmd.collective_permute %x pairs [0, 1, 1, 2] over <a> : <f32[1]> -> <f32[1]>", tens(3, 1));
  EXPECT_EQ(floatsOf(results[0]), (Row{0}));
  EXPECT_EQ(floatsOf(results[1]), (Row{0}));
  EXPECT_EQ(floatsOf(results[2]), (Row{10}));
}

// Over (b, a) of a 2 x 2 mesh with b major, position 1 is device (a=1, b=0).
TEST_F(ProcessGridEvaluatorTest, CollectiveBroadcastGivesAllWhatTheRootHas) {
  auto results = run(", a=2, b=2", "f32[2]", "f32[2]",
                     "%r = array.constant dense<1> : tensor<i32> -> <i32[]>\n"
                     "%y = spmd.collective_broadcast %x from %r over <b, a> : <f32[2]>, <i32[]> -> <f32[2]>",
                     tens(4, 2));
  for (const Tensor &result : results)
    EXPECT_EQ(floatsOf(result), (Row{20, 21}));
  // Each row of the mesh has its own root.
  results = run(", a=2, b=2", "f32[2]", "f32[2]",
                "%r = spmd.axis_index <a> : <i32[]>\n"
                "%y = spmd.collective_broadcast %x from %r over <b> : <f32[2]>, <i32[]> -> <f32[2]>",
                tens(4, 2));
  EXPECT_EQ(floatsOf(results[0]), (Row{0, 1}));
  EXPECT_EQ(floatsOf(results[1]), (Row{0, 1}));
  EXPECT_EQ(floatsOf(results[2]), (Row{30, 31}));
  EXPECT_EQ(floatsOf(results[3]), (Row{30, 31}));
}

// Five elements are resharded from 3 + 2 on a (replicated over b) to 2 + 1 + 2 + 0 on (b, a).
TEST_F(ProcessGridEvaluatorTest, ExchangeMovesEveryElementToWhereItBelongs) {
  DeviceTensors arguments;
  for (int64_t device = 0; device < 4; ++device)
    arguments.push_back(device < 2 ? f32({3}, {0, 1, 2}) : f32({3}, {3, 4, NAN}));
  auto results = run(", a=2, b=2", "f32[3]", "f32[2]",
                     "%y = spmd.exchange %x over <a, b> from !spmd.array<f32[5@a]> to !spmd.array<f32[5@\"(b, a)\"]> : "
                     "<f32[3]> -> <f32[2]>",
                     arguments);
  EXPECT_EQ(floatsOf(results[0]), (Row{0, 1})); // a = 0, b = 0
  EXPECT_EQ(floatsOf(results[1]), (Row{3, 4})); // a = 0, b = 1
  EXPECT_EQ(results[2].elements[0].f, 2);       // a = 1, b = 0
  EXPECT_TRUE(std::isnan(results[2].elements[1].f));
  EXPECT_TRUE(std::isnan(results[3].elements[0].f)); // a = 1, b = 1: nothing
}

// Halves of a run of six become halves, padded, of two rows of three.
TEST_F(ProcessGridEvaluatorTest, ExchangeReshapes) {
  auto results = run(", a=2", "f32[3]", "f32[2, 2]",
                     "%y = spmd.exchange %x over <a> from !spmd.array<f32[6@a]> to !spmd.array<f32[2, 3@a]> : "
                     "<f32[3]> -> <f32[2, 2]>",
                     {f32({3}, {0, 1, 2}), f32({3}, {3, 4, 5})});
  EXPECT_EQ(floatsOf(results[0]), (Row{0, 1, 3, 4}));
  EXPECT_EQ(results[1].elements[0].f, 2);
  EXPECT_TRUE(std::isnan(results[1].elements[1].f));
  EXPECT_EQ(results[1].elements[2].f, 5);
}

TEST_F(ProcessGridEvaluatorTest, ExchangeReducesWhatIsUnreduced) {
  auto results = run(", a=2", "f32[2]", "f32[1]",
                     "%y = spmd.exchange %x over <a> from !spmd.array<f32[2] unreduced(a)> to !spmd.array<f32[2@a]> : "
                     "<f32[2]> -> <f32[1]>",
                     tens(2, 2));
  EXPECT_EQ(floatsOf(results[0]), (Row{10}));
  EXPECT_EQ(floatsOf(results[1]), (Row{12}));
}

// Nine elements over (a, b) = 2 x 2: 5 + 4, and those 3 + 2 and 3 + 1.
TEST_F(ProcessGridEvaluatorTest, CoordinatesFollowNestedCeilings) {
  auto module = parseValid(R"mlir(
    module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
      func.func @main() -> (!spmd.array<i32[]>, !spmd.array<i32[]>, !spmd.array<i32[]>) {
        %0 = spmd.shard_start 9 over <a, b> : <i32[]>
        %1 = spmd.shard_size 9 over <a, b> : <i32[]>
        %2 = spmd.axis_index <b, a> : <i32[]>
        return %0, %1, %2 : !spmd.array<i32[]>, !spmd.array<i32[]>, !spmd.array<i32[]>
      }
    })mlir");
  auto results = ProcessGridEvaluator(getMesh(*module)).evaluate(functionOf(*module), {});
  ASSERT_TRUE(mlir::succeeded(results)) << diagnosticText();
  std::vector<int64_t> starts, sizes, positions;
  for (int device = 0; device < 4; ++device) {
    starts.push_back((*results)[0][device].elements[0].i);
    sizes.push_back((*results)[1][device].elements[0].i);
    positions.push_back((*results)[2][device].elements[0].i);
  }
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 3, 5, 8}));
  EXPECT_EQ(sizes, (std::vector<int64_t>{3, 2, 3, 1}));
  EXPECT_EQ(positions, (std::vector<int64_t>{0, 2, 1, 3}));
}

// The example of the seeds by hand: rows over a, the contraction over b, one all_reduce, relu.
constexpr const char *kPartitionedMlp = R"mlir(
  module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
    func.func @main(%x: !spmd.array<f32[2, 2]> {spmd.global = !spmd.array<f32[3@a, 4@b]>},
                    %w: !spmd.array<f32[2, 2]> {spmd.global = !spmd.array<f32[4@b, 2]>})
        -> (!spmd.array<f32[2, 2]> {spmd.global = !spmd.array<f32[3@a, 2]>}) {
      %0 = array.dot_general %x, %w contract [1] x [0] batch [] x [] : <f32[2, 2]>, <f32[2, 2]> -> <f32[2, 2]>
      %1 = spmd.all_reduce sum %0 over <b> : <f32[2, 2]> -> <f32[2, 2]>
      %2 = array.constant dense<0.0> : tensor<2x2xf32> -> <f32[2, 2]>
      %3 = array.maximum %1, %2 : <f32[2, 2]>
      return %3 : !spmd.array<f32[2, 2]>
    }
  })mlir";

TEST_F(ProcessGridEvaluatorTest, GlobalViewOfAPartitionedProgram) {
  auto module = parseValid(kPartitionedMlp);
  Tensor w = f32({4, 2}, {1, 0, 0, 1, -1, 0, 0, -1});
  auto results = ProcessGridEvaluator(getMesh(*module)).evaluateGlobalView(functionOf(*module), {iotaF32({3, 4}), w});
  ASSERT_TRUE(mlir::succeeded(results)) << diagnosticText();
  EXPECT_EQ((*results)[0].shape, (llvm::SmallVector<int64_t, 4>{3, 2}));
  EXPECT_EQ(floatsOf((*results)[0]), (Row{0, 0, 0, 0, 0, 0}));
  Tensor ones = f32({4, 2}, std::vector<double>(8, 1));
  results = ProcessGridEvaluator(getMesh(*module)).evaluateGlobalView(functionOf(*module), {iotaF32({3, 4}), ones});
  ASSERT_TRUE(mlir::succeeded(results));
  EXPECT_EQ(floatsOf((*results)[0]), (Row{6, 6, 22, 22, 38, 38}));
}

// Without its all_reduce the devices along b hold different partial sums, and the evaluator finds that.
TEST_F(ProcessGridEvaluatorTest, MissingCollectiveIsADisagreement) {
  std::string text = kPartitionedMlp;
  size_t at = text.find("array.maximum %1");
  text.replace(at, 16, "array.maximum %0");
  auto module = parseValid(text);
  Tensor ones = f32({4, 2}, std::vector<double>(8, 1));
  EXPECT_TRUE(mlir::failed(
      ProcessGridEvaluator(getMesh(*module)).evaluateGlobalView(functionOf(*module), {iotaF32({3, 4}), ones})));
  EXPECT_NE(diagnosticText().find("disagree about element [0, 0]"), std::string::npos) << diagnosticText();
}

// A sum over an uneven dimension without a mask reads poison, of either kind.
TEST_F(ProcessGridEvaluatorTest, MissingMaskMeetsPoison) {
  auto module = parseValid(R"mlir(
    module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
      func.func @main(%x: !spmd.array<f32[2]> {spmd.global = !spmd.array<f32[3@a]>})
          -> (!spmd.array<f32[]> {spmd.global = !spmd.array<f32[]>}) {
        %0 = array.reduce sum %x dims [0] : <f32[2]> -> <f32[]>
        %1 = spmd.all_reduce sum %0 over <a> : <f32[]> -> <f32[]>
        return %1 : !spmd.array<f32[]>
      }
    })mlir");
  for (Poison poison : {Poison::Nan, Poison::Huge}) {
    auto results =
        ProcessGridEvaluator(getMesh(*module), poison).evaluateGlobalView(functionOf(*module), {iotaF32({3})});
    ASSERT_TRUE(mlir::succeeded(results));
    EXPECT_FALSE((*results)[0].elements[0].f == 3);
  }
}

} // namespace
