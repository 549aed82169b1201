//===- WindowsTest.cpp - windows of stencils ------------------------------===//
//
// The bytes of a window are counted element by element: those that a device reads and does not hold.
//
//===----------------------------------------------------------------------===//

#include "passes/exchange/Windows.h"

#include "tests/passes/support/ParsedFunction.h"

#include <set>

using namespace mlir;

namespace spmdc {
namespace {

class WindowsTest : public ParsedFunction {
protected:
  /// Slices [shift, shift + count) of f32[16@a] on 4 devices, one for each shift; and the sum of them.
  void parseStencil(int64_t count, const std::vector<int64_t> &shifts) {
    std::string body, shape = "<f32[" + std::to_string(count) + "@a]>";
    for (size_t i = 0; i < shifts.size(); ++i)
      body += "%s" + std::to_string(i) + " = array.slice %x0 [" + std::to_string(shifts[i]) + "] to [" +
              std::to_string(shifts[i] + count) + "] step [1] : <f32[16@a]> -> " + shape + "\n";
    for (size_t i = 0; i < shifts.size(); ++i)
      body += "%e" + std::to_string(i) + " = array.exp %s" + std::to_string(i) + " : " + shape + "\n";
    parse("a=4", {"f32[16@a]"}, body);
  }
  /// The shares of the slices, in order.
  std::vector<std::optional<double>> getShares() {
    Region &body = function().getBody();
    Windows windows(Windows::listMovers(body), getMesh(*module));
    std::vector<std::optional<double>> shares;
    module->walk([&](SliceOp op) {
      std::optional<CollectiveCost> share = windows.getShare(op, CostModel());
      shares.push_back(share ? std::optional(share->wireBytes) : std::nullopt);
    });
    return shares;
  }
};

/// The bytes of the elements of f32[16] that devices read for their shards of the slices, and do not hold.
double countMissing(int64_t count, const std::vector<int64_t> &shifts) {
  double bytes = 0;
  for (int64_t device = 0; device < 4; ++device) {
    spmd::ShardRange own = spmd::shardRange(16, {4}, {device}), of = spmd::shardRange(count, {4}, {device});
    std::set<int64_t> read;
    for (int64_t shift : shifts)
      for (int64_t i = of.start; i < of.start + of.size; ++i)
        if (i + shift < own.start || i + shift >= own.start + own.size)
          read.insert(i + shift);
    bytes += 4.0 * static_cast<double>(read.size());
  }
  return bytes;
}

TEST_F(WindowsTest, SlicesShareOneWindow) {
  parseStencil(14, {0, 1, 2});
  double alone = countMissing(14, {0}) + countMissing(14, {1}) + countMissing(14, {2});
  double together = countMissing(14, {0, 1, 2});
  ASSERT_LT(together, alone);
  double sum = 0;
  for (std::optional<double> share : getShares()) {
    ASSERT_TRUE(share);
    sum += *share;
  }
  EXPECT_EQ(sum, together);
}

// Halos of one slice alone would not be sent twice.
TEST_F(WindowsTest, OneSliceNeedsNoWindow) {
  parseStencil(14, {2});
  EXPECT_EQ(getShares(), std::vector<std::optional<double>>{std::nullopt});
}

TEST_F(WindowsTest, OperationsOfARegion) {
  parse("a=4", {"f32[16@a]"},
        "%0 = array.slice %x0 [0] to [8] step [1] : <f32[16@a]> -> <f32[8@a]>\n%1 = array.exp %0 : <f32[8@a]>\n"
        "%2 = array.reverse %1 dims [0] : <f32[8@a]> -> <f32[8@a]>\n%3 = array.exp %2 : <f32[8@a]>");
  std::vector<ShardingRuleOpInterface> movers = Windows::listMovers(function().getBody());
  for (ShardingRuleOpInterface op : movers)
    EXPECT_FALSE(isa<ExpOp>(op.getOperation()));
  EXPECT_FALSE(movers.empty());
  EXPECT_EQ(movers.front().getOperation(), get<SliceOp>());
}

} // namespace
} // namespace spmdc
