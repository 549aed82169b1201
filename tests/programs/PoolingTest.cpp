//===- PoolingTest.cpp - pools of long windows, executed ------------------===//
//
// Reductions of windows, which are computed by blocks and spans, of any lengths and strides, padded, along dimensions
// with random shardings, with derivatives: every stage gives the results of the unpartitioned program, and devices send
// no more bytes than the halo of one window. tests/frontend/data/prelude.txt has JAX's values for the windows
// themselves.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace spmdc;

namespace {

class Pools : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  std::string mesh() const { return "mesh m(a=" + std::to_string(devices) + ", b=2)\n"; }

  /// Returns the number of rows that devices read for their shards of the result and do not hold.
  int64_t countMissing(int64_t rows, int64_t window) const {
    int64_t results = rows - window + 1, piece = (rows + devices - 1) / devices;
    int64_t resultPiece = (results + devices - 1) / devices, missing = 0;
    for (int64_t device = 0; device < devices; ++device) {
      int64_t end = std::min(results, (device + 1) * resultPiece);
      if (device * resultPiece < end)
        for (int64_t row = device * resultPiece; row < end + window - 1; ++row)
          missing += row / piece != device;
    }
    return missing;
  }

  Random random{static_cast<uint64_t>(121000 + GetParam())};
  int64_t devices = 2;
};

constexpr int kBlocks = 2, kPerBlock = 30, kCompiledEvery = 3;

TEST_P(Pools, SendTheEdgesOnce) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    bool isMax = random.integer(0, 1) == 1;
    int64_t window = isMax ? random.integer(13, 100) : random.pick({16, 24, 35, 60, 96});
    int64_t rows = window + random.integer(devices, 150);
    std::string text = mesh() + "fn main(x: f32[1, " + std::to_string(rows) + "@a, 3]) -> f32[1, " +
                       std::to_string(rows - window + 1) + "@a, 3] { return " + (isMax ? "max" : "avg") + "_pool(x, " +
                       std::to_string(window) + "); }\n";
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    EXPECT_LE(sentBytes(*module),
              4.0 * 3 * static_cast<double>(countMissing(rows, window)) / static_cast<double>(devices));
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

TEST_P(Pools, OfAnySizesAndShardings) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({1, 2, 3});
    std::string rows = std::to_string(random.pick({1, 5, 29, 64, 101})), columns = std::to_string(random.integer(1, 9));
    std::string padding =
        random.pick(std::vector<std::string>{"\"SAME\"", "\"VALID\"", "[(0, 3), (2, 0)]", "[(40, 7), (0, 1)]"});
    auto numbers = [&](std::vector<std::string> ofRows) {
      return "[" + random.pick(std::move(ofRows)) + ", " + std::to_string(random.integer(1, 3)) + "]";
    };
    std::string windows = numbers({"13", "16", "17", "64", "67", "100", "128"});
    std::string behind = ", " + numbers({"1", "1", "2", "5", "16", "40"}) + ", " + padding + ")";
    // Derivatives divide by these lengths without rounding; in few elements, several may be the maximum together.
    std::string smooth =
        random.pick(std::vector<std::string>{"max_pool(x, [13, 1]", "max_pool(x, [17, 2]", "avg_pool(x, [16, 2]",
                                             "avg_pool(x, [32, 1]", "avg_pool(x, [128, 2]"});
    auto cut = [&] { return random.pick(std::vector<std::string>{"@a", "@(a, b)", "@_"}); };
    std::string body = random.pick(std::vector<std::string>{
        "fn main(X) { return max_pool(x, " + windows + behind + "; }\n",
        "fn main(X) { return avg_pool(x, " + windows + behind + "; }\n",
        "fn loss(x) { return sum(" + smooth + behind + "); }\nfn main(X) { return grad(loss)(x); }\n",
    });
    std::string parameter =
        "x: f32[2, " + rows + cut() + ", " + columns + random.pick(std::vector<std::string>{"@_", "@b"}) + ", 2]";
    if (parameter.find("(a, b)") != std::string::npos)
      parameter = "x: f32[2, " + rows + "@(a, b), " + columns + "@_, 2]";
    std::string text = mesh() + body.replace(body.find('X'), 1, parameter);
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, Pools, ::testing::Range(0, kBlocks));

} // namespace
