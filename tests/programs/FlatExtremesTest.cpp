//===- FlatExtremesTest.cpp - positions among all elements, executed ------===//
//
// argmax and argmin of arrays that are cut in whatever way, in any sizes. Elements are small integers, so that many are
// equal: the first in row-major order is the one. Every station against the unpartitioned program.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

class FlatExtremes : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  Random random{static_cast<uint64_t>(62000 + GetParam())};
};

constexpr int kBlocks = 2, kPerBlock = 40, kCompiledEvery = 4;

TEST_P(FlatExtremes, OfAnySizesAndShardings) {
  int split = 0;
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    std::vector<std::string> axes = {"a", "b"};
    std::string type;
    for (int64_t rank = random.integer(2, 4); rank > 0; --rank) {
      std::string axis = "_";
      if (!axes.empty() && random.chance(60)) {
        axis = axes.back();
        axes.pop_back();
      }
      type += (type.empty() ? "" : ", ") + std::to_string(random.integer(1, 9)) + "@" + axis;
    }
    std::string dtype = random.pick(std::vector<std::string>{"f32", "i32", "bf16"});
    std::string text = "mesh m(a=" + std::to_string(random.integer(2, 4)) + ", b=2)\nfn main(x: " + dtype + "[" + type +
                       "]) { return (argmax(x), argmin(x * x)); }\n";
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    int found = 0;
    module->walk([&](ArgReduceOp) { ++found; });
    split += found > 2;
    checkStations(*module, sample, i % kCompiledEvery == 0);
  }
  EXPECT_GE(split, kPerBlock / 4);
}

INSTANTIATE_TEST_SUITE_P(Blocks, FlatExtremes, ::testing::Range(0, kBlocks));

} // namespace
