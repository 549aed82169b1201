//===- SortEndsTest.cpp - first and last elements of sorts, executed -----===//
//
// The k smallest or largest elements of arrays with random shardings and sizes, as users write them: slices of sorted
// arrays, ascending and descending. Elements are small integers, so that many are equal. Every stage gives the results
// of the unpartitioned program.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

class SortEnds : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  Random random{static_cast<uint64_t>(61000 + GetParam())};
};

constexpr int kBlocks = 2, kPerBlock = 40, kCompiledEvery = 4;

TEST_P(SortEnds, OfAnySizesAndShardings) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    int64_t size = random.integer(6, 240), count = random.integer(1, 4), fewer = random.integer(1, count);
    std::string axes = random.pick(std::vector<std::string>{"a", "b", "(a, b)", "(b, a)"});
    std::string dtype = random.pick(std::vector<std::string>{"f32", "i32", "bf16"});
    bool hasRows = random.chance(50);
    std::string rows = hasRows ? ":, " : "", n = std::to_string(count);
    auto last = [&](const std::string &order, const std::string &k) { return order + "[" + rows + "-" + k + ":]"; };
    auto first = [&](const std::string &order) { return order + "[" + rows + ":" + n + "]"; };
    std::string backwards = "[" + rows + "::-1]";
    std::string body = random.pick(std::vector<std::string>{
        last("argsort(x)", n),
        last("sort(x)", n),
        first("argsort(x)" + backwards),
        first("sort(x)" + backwards),
        first("argsort(x)"),
        "(" + last("argsort(x)", n) + ", " + last("sort(x)", std::to_string(fewer)) + ")",
        "(" + last("o", n) + ", " + last("o", std::to_string(fewer)) + ")",
        "(" + last("o", n) + ", " + first("o") + ")",
    });
    std::string text = "mesh m(a=" + std::to_string(random.integer(2, 4)) + ", b=2)\nfn main(x: " + dtype + "[" +
                       (hasRows ? "3, " : "") + std::to_string(size) + "@" + axes +
                       "]) {\n  let o = argsort(x);\n  return " + body + ";\n}\n";
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, SortEnds, ::testing::Range(0, kBlocks));

} // namespace
