//===- HaloAccumulationTest.cpp - halo accumulation, executed ---------------------===//
//
// The gradient of a function of several shifted windows of one array is a sum of shifted arrays. Devices add up their
// contributions to one another's shards and send the sums (halo accumulation), along one or two sharded dimensions,
// with strides, dilations and paddings, in any sizes. Every stage gives the results of the unpartitioned program. If
// source and target have the same shards, devices send no more bytes than the number of elements to which a device
// contributes and that it does not hold.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <set>

using namespace spmdc;

namespace {

constexpr int kBlocks = 2, kPerBlock = 30, kCompiledEvery = 3;

class HaloAccumulations : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  /// One window position of a convolution.
  struct Position {
    int64_t size, window, stride, dilation, low, high;
    std::string axes;

    int64_t getExtent() const { return (window - 1) * dilation + 1; }
    int64_t getCount() const { return (size + low + high - getExtent()) / stride + 1; }
    std::string getSize() const { return std::to_string(size) + "@" + axes; }
    std::string getCountSize() const { return std::to_string(getCount()) + "@" + axes; }
    std::string getPadding() const { return "(" + std::to_string(low) + ", " + std::to_string(high) + ")"; }
  };

  Position makePosition(const std::string &axes) {
    Position position{0,
                      random.integer(1, 5),
                      random.pick({1, 1, 2, 3}),
                      random.pick({1, 1, 2}),
                      random.integer(0, 3),
                      random.integer(0, 3),
                      axes};
    position.size = position.getExtent() + random.integer(0, 25);
    return position;
  }

  static std::string tuple(std::vector<int64_t> numbers) {
    std::string text;
    for (int64_t number : numbers)
      text += (text.empty() ? "" : ", ") + std::to_string(number);
    return numbers.size() > 1 ? "(" + text + ")" : text;
  }

  std::string mesh() const { return "mesh m(a=" + std::to_string(devices) + ", b=2)\n"; }

  void check(const std::string &text, bool isCompiled, double most = INFINITY) {
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    EXPECT_LE(sentBytes(*module), most);
    checkStages(*module, sample, isCompiled);
  }

  Random random{static_cast<uint64_t>(98000 + GetParam())};
  int64_t devices = 2;
};

TEST_P(HaloAccumulations, OneEdgeToEachNeighbour) {
  constexpr int64_t kChannels = 3;
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4, 5});
    Position x = makePosition("a");
    x.stride = 1;
    x.low = random.integer(0, x.getExtent() - 1); // SAME padding, with the larger half at either end.
    x.high = x.getExtent() - 1 - x.low;
    int64_t piece = (x.size + devices - 1) / devices, missing = 0;
    for (int64_t device = 0; device < devices; ++device) {
      std::set<int64_t> others;
      for (int64_t row = device * piece; row < std::min(x.size, (device + 1) * piece); ++row)
        for (int64_t tap = 0; tap < x.window; ++tap) {
          int64_t at = row + tap * x.dilation - x.low;
          if (at >= 0 && at < x.size && at / piece != device)
            others.insert(at);
        }
      missing += static_cast<int64_t>(others.size());
    }
    std::string array = "f32[1, " + x.getSize() + ", " + std::to_string(kChannels) + "]";
    std::string text = mesh() + "fn loss(x, k, c) { return sum(conv1d(x, k, padding=[" + x.getPadding() +
                       "], dilation=" + std::to_string(x.dilation) + ") * c); }\nfn main(x: " + array + ", k: f32[" +
                       std::to_string(x.window) + "@_, 3@_, 2@_], c: f32[1, " + x.getCountSize() + ", 2]) -> " + array +
                       " { return grad(loss)(x, k, c); }\n";
    // Gaps of more than a shard are sent as if there were none.
    bool isNear = x.getExtent() <= piece;
    double bound = 4.0 * kChannels * static_cast<double>(missing) / static_cast<double>(devices);
    check(text, i % kCompiledEvery == 0, isNear && x.dilation == 1 ? bound : INFINITY);
  }
}

TEST_P(HaloAccumulations, OfAnySizesAlongTwoDimensions) {
  const std::vector<std::string> kAxes{"a", "b", "(a, b)", "(b, a)", "_"};
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    std::string rowAxes = random.pick(kAxes);
    std::string columnAxes = rowAxes == "a" ? "b" : rowAxes == "b" ? "a" : rowAxes == "_" ? random.pick(kAxes) : "_";
    Position rows = makePosition(rowAxes), columns = makePosition(columnAxes);
    std::string array = "f32[1, " + rows.getSize() + ", " + columns.getSize() + ", 2]";
    std::string text = mesh() +
                       "fn loss(x, k, c) { return sum(conv2d(x, k, strides=" + tuple({rows.stride, columns.stride}) +
                       ", padding=[" + rows.getPadding() + ", " + columns.getPadding() +
                       "], dilation=" + tuple({rows.dilation, columns.dilation}) +
                       ", dimension_numbers=(\"NHWC\", \"HWIO\", \"NHWC\")) * c); }\nfn main(x: " + array +
                       ", k: f32[" + std::to_string(rows.window) + "@_, " + std::to_string(columns.window) +
                       "@_, 2@_, 2@_], c: f32[1, " + rows.getCountSize() + ", " + columns.getCountSize() + ", 2]) -> " +
                       array + " { return grad(loss)(x, k, c); }\n";
    check(text, i % kCompiledEvery == 0);
  }
}

TEST_P(HaloAccumulations, OfShiftedProducts) {
  // Sums with shifted and unshifted terms, some with other users, in loops, and of slices of slices.
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    devices = random.pick({2, 3, 4});
    int64_t size = random.integer(6, 40);
    auto shifted = [&](const std::string &value) {
      int64_t by = random.integer(-3, 3), low = std::max<int64_t>(by, 0), high = std::max<int64_t>(-by, 0);
      std::string part = "(" + value + ")[" + std::to_string(high) + ":" + std::to_string(size - low) + "]";
      return by == 0 ? value
                     : "pad(" + part + ", [(" + std::to_string(low) + ", " + std::to_string(high) + "), (0, 0)])";
    };
    std::string body = random.pick(std::vector<std::string>{
        shifted("x * y") + " + " + shifted("x + y") + " + " + shifted("(x - y)") + " + x",
        shifted("(" + shifted("x * y") + " + " + shifted("x") + ")") + " + " + shifted("y"),
        "pad((" + shifted("x * y") + " + " + shifted("y") + ")[:, 1:], [(0, 0), (1, 0)]) + x",
        "for i in 0..3 carry (t = x) { yield " + shifted("t * y") + " + " + shifted("(t - y)") + "; }",
    });
    std::string array = "f32[" + std::to_string(size) + "@a, 4]";
    check(mesh() + "fn main(x: " + array + ", y: " + array + ") -> " + array + " { let z = " + body + "; return z; }\n",
          i % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, HaloAccumulations, ::testing::Range(0, kBlocks));

} // namespace
