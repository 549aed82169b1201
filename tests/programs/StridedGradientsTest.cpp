//===- StridedGradientsTest.cpp - gradients of strided slices, executed ------------===//
//
// The gradient of x[first:last:stride] has zeros between its elements. Each device inserts the zeros of its own shard,
// and devices send only elements that belong to other shards. Arrays have random shardings and sizes. Every stage gives
// the results of the unpartitioned program, and devices send no more bytes than a count element by element.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace spmdc;

namespace {

class StridedGradients : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  void makeSlice(int64_t leastRows) {
    rows = random.integer(leastRows, leastRows + 30);
    stride = random.integer(2, 4);
    first = random.integer(0, 3);
    int64_t limit = rows - random.integer(0, 2);
    taken = (limit - first - 1) / stride + 1;
    slice = std::to_string(first) + ":" + std::to_string(limit) + ":" + std::to_string(stride);
  }

  std::string array(int64_t size, const std::string &axes) {
    return "f32[" + std::to_string(size) + "@" + axes + ", 5]";
  }

  /// Returns the number of elements of the cotangent that devices need for their shards of the gradient and do not
  /// hold.
  int64_t countMissing() const {
    int64_t piece = (rows + devices - 1) / devices, takenPiece = (taken + devices - 1) / devices, missing = 0;
    for (int64_t i = 0; i < taken; ++i)
      missing += (first + i * stride) / piece != i / takenPiece;
    return missing;
  }

  std::string mesh() const { return "mesh m(a=" + std::to_string(devices) + ", b=2)\n"; }

  Random random{static_cast<uint64_t>(97000 + GetParam())};
  int64_t devices = 2, rows = 1, taken = 1, first = 0, stride = 1;
  std::string slice;
};

constexpr int kBlocks = 2, kPerBlock = 40, kCompiledEvery = 4;

TEST_P(StridedGradients, OnlyElementsTravel) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    makeSlice(20);
    std::string text = mesh() + "fn loss(x, w) { return sum(x[" + slice + "] * w); }\nfn main(x: " + array(rows, "a") +
                       ", w: " + array(taken, "a") + ") -> " + array(rows, "a") + " { return grad(loss)(x, w); }\n";
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    EXPECT_LE(sentBytes(*module), 4.0 * 5 * static_cast<double>(countMissing()) / static_cast<double>(devices));
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

TEST_P(StridedGradients, OfAnySizesAndShardings) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    makeSlice(8);
    auto axes = [&] { return random.pick(std::vector<std::string>{"a", "b", "(a, b)", "(b, a)", "_"}); };
    std::string body = random.pick(std::vector<std::string>{
        "x[" + slice + "] * w",
        "x[" + slice + ", ::2] * w[:, 1:4]",
        "x[" + slice + "][::2] * w[:" + std::to_string((taken + 1) / 2) + "]",
        "(x ** 2)[" + slice + "] * w + x[:" + std::to_string(taken) + "]",
        "(for i in 0..2 carry (t = x) { yield pad(t[1:], [(0, 1), (0, 0)]); })[" + slice + "] * w",
        "flip(x, axis=0)[" + slice + "] * w",
        "concatenate([x[3:], x[:3]], axis=0)[" + slice + "] * w",
    });
    std::string text = mesh() + "fn loss(x, w) { return sum(" + body + "); }\nfn main(x: " + array(rows, axes()) +
                       ", w: " + array(taken, axes()) + ") { return grad(loss, wrt=(0, 1))(x, w); }\n";
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, StridedGradients, ::testing::Range(0, kBlocks));

} // namespace
