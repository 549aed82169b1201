//===- DimMovesTest.cpp - element maps against brute force ----------------===//
//
// Compares with a loop over single devices and single elements.
//
//===----------------------------------------------------------------------===//

#include "runtime/sharding/DimMoves.h"
#include "runtime/sharding/ExchangedAxes.h"
#include "tests/runtime/sharding/RandomSharding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

using namespace spmd;
using test::mesh;
using test::randomSharding;
using test::withoutAxis;

namespace {

struct RandomMove {
  ShardedShape source, target;
  std::vector<DimMove> moves;

  explicit RandomMove(std::mt19937_64 &random, bool isNear) {
    size_t rank = 1 + random() % 3;
    source.sharding = randomSharding(random, rank);
    target.sharding = isNear && random() % 2 ? source.sharding : randomSharding(random, rank);
    for (size_t d = 0; d < rank; ++d) {
      source.shape.push_back(1 + static_cast<int64_t>(random() % 14));
      target.shape.push_back(isNear ? source.shape.back() : 1 + static_cast<int64_t>(random() % 14));
      DimMove &move = moves.emplace_back();
      move.shift = isNear ? 0 : static_cast<int64_t>(random() % 20) - 8;
      move.stride = isNear ? 1 : std::array{1, 1, 2, 3, -1, -2}[random() % 6];
      move.end = target.shape.back() - (isNear ? 0 : static_cast<int64_t>(random() % 2));
      move.begin = isNear ? 0 : static_cast<int64_t>(random() % static_cast<uint64_t>(move.end + 1));
      if (random() % 3 == 0)
        makeWindows(random, d);
      move.block = random() % 3 ? 1 : 1 + static_cast<int64_t>(random() % 3);
      move.wraps = random() % 4 == 0;
      if (move.wraps)
        move.block = move.stride = 1;
      else if (random() % 3 == 0)
        dilate(random, move);
      source.shape.back() *= move.block;
    }
  }

  /// Returns the ranges of the source that a device holds: blocks.
  std::vector<ShardRange> rangesOf(int64_t device) const {
    std::vector<int64_t> blocks;
    for (size_t d = 0; d < moves.size(); ++d)
      blocks.push_back(source.shape[d] / moves[d].block);
    std::vector<ShardRange> ranges = ownedRanges(mesh, blocks, source.sharding, device);
    for (size_t d = 0; d < moves.size(); ++d)
      ranges[d] = {ranges[d].start * moves[d].block, ranges[d].size * moves[d].block};
    return ranges;
  }

  /// Makes each device's shard a window at some distance from the previous one.
  void makeWindows(std::mt19937_64 &random, size_t d) {
    int64_t windows = 1;
    for (const AxisRef &axis : target.sharding.dims[d])
      windows *= axis.sizeIn(mesh);
    DimMove &move = moves[d];
    move.length = 1 + static_cast<int64_t>(random() % 6);
    move.step = static_cast<int64_t>(random() % 4);
    move.base = static_cast<int64_t>(random() % 15);
    move.stride = 1 + static_cast<int64_t>(random() % 3);
    target.shape[d] = windows * move.length;
    move.begin = static_cast<int64_t>(random() % 2);
    move.end = std::max(move.begin, target.shape[d] - static_cast<int64_t>(random() % 2));
  }

  /// Returns the shard of a dimension's base that a window follows, by repeated division into equal lengths.
  ShardRange shardOf(size_t d, int64_t window) const {
    ShardRange piece{0, moves[d].base};
    int64_t windows = 1, length = piece.size;
    for (const AxisRef &axis : target.sharding.dims[d])
      windows *= axis.sizeIn(mesh);
    for (const AxisRef &axis : target.sharding.dims[d]) {
      windows /= axis.sizeIn(mesh);
      length = (length + axis.sizeIn(mesh) - 1) / axis.sizeIn(mesh);
      int64_t end = piece.start + piece.size, start = std::min(end, piece.start + window / windows * length);
      piece = {start, std::min(length, end - start)};
      window %= windows;
    }
    return piece;
  }

  static void dilate(std::mt19937_64 &random, DimMove &move) {
    move.dilation = 2 + static_cast<int64_t>(random() % 4);
    if (std::gcd(move.stride, move.dilation) != 1)
      move.stride = 1;
  }

  /// Returns the element of the dilated source at a position of the target, as if the source were infinite.
  int64_t elementAt(size_t d, int64_t i) const {
    int64_t length = moves[d].length;
    return length == 0 ? moves[d].shift + i * moves[d].stride
                       : moves[d].shift + shardOf(d, i / length).start * moves[d].step + i % length * moves[d].stride;
  }

  /// Like elementAt; -1: no element.
  int64_t sourceOf(size_t d, int64_t i) const {
    const DimMove &move = moves[d];
    int64_t element = elementAt(d, i), size = source.shape[d];
    if (move.wraps)
      element = (element % size + size) % size;
    if (element % move.dilation != 0)
      return -1;
    element /= move.dilation;
    bool isThere = i >= move.begin && i < move.end && element >= 0 && element < source.shape[d];
    if (move.length > 0) {
      int64_t missing = shardOf(d, 0).size - shardOf(d, i / move.length).size;
      isThere &=
          shardOf(d, i / move.length).size > 0 && i % move.length < move.length - missing * move.step / move.stride;
    }
    return isThere ? element : -1;
  }
};

TEST(DimMoves, MissingElementsAreThoseThatADeviceNeedsAndHasNot) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 1500; ++i) {
    RandomMove move(random, i % 3 == 0);
    int64_t missing = 0;
    for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
      std::vector<ShardRange> has = move.rangesOf(device);
      std::vector<ShardRange> needs = ownedRanges(mesh, move.target.shape, move.target.sharding, device);
      int64_t needed = 1, held = 1;
      for (size_t d = 0; d < needs.size(); ++d) {
        int64_t neededHere = 0, heldHere = 0;
        for (int64_t k = needs[d].start; k < needs[d].start + needs[d].size; ++k) {
          int64_t element = move.sourceOf(d, k);
          neededHere += element >= 0;
          heldHere += element >= has[d].start && element < has[d].start + has[d].size;
        }
        needed *= neededHere;
        held *= heldHere;
      }
      missing += needed - held;
    }
    ASSERT_EQ(missingElements(mesh, move.source, move.target, move.moves), static_cast<double>(missing))
        << "case " << i << ": " << move.source.sharding.str() << " to " << move.target.sharding.str();
  }
}

/// Fails if a device does not find the elements that it needs at the given position, or finds an element at a position
/// that has none.
void expectStartsHold(const RandomMove &move, const std::vector<LocalStart> &starts) {
  for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
    SCOPED_TRACE("device " + std::to_string(device));
    std::vector<ShardRange> has = move.rangesOf(device);
    std::vector<ShardRange> needs = ownedRanges(mesh, move.target.shape, move.target.sharding, device);
    for (size_t d = 0; d < needs.size(); ++d) {
      int64_t dilation = move.moves[d].dilation;
      std::optional<int64_t> first, last; // Target elements that exist on any device.
      for (int64_t k = 0; k < move.target.shape[d]; ++k)
        if (move.sourceOf(d, k) >= 0) {
          first = first.value_or(k);
          last = k;
        }
      for (int64_t k = 0; k < needs[d].size; ++k) {
        const LocalStart &start = starts[d];
        int64_t place = needs[d].start + k;
        int64_t at = move.elementAt(d, needs[d].start) - has[d].start * dilation;
        int64_t index = (start.isSame() ? start.least : at) + k * move.moves[d].stride;
        if (move.sourceOf(d, place) >= 0 && !start.isSame())
          ASSERT_TRUE(at >= start.least && at <= start.greatest);
        if (move.sourceOf(d, place) >= 0) {
          ASSERT_EQ(has[d].start * dilation + index, move.elementAt(d, place));
        } else if (dilation > 1 && first && place > *first && place < *last) {
          bool isTaken = index >= 0 && index % dilation == 0 && index / dilation < has[d].size;
          ASSERT_FALSE(isTaken) << "a gap is taken for an element";
        }
      }
    }
  }
}

// If there is an answer, every device finds its elements there; for small moves there often is one.
/// Whether, in groups over these axes, each device finds every element that it needs.
bool groupsSuffice(const RandomMove &move, const std::vector<AxisRef> &axes) {
  for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
    std::vector<ShardRange> needs = ownedRanges(mesh, move.target.shape, move.target.sharding, device);
    std::vector<std::vector<ShardRange>> held;
    for (int64_t member : groupOf(mesh, axes, device))
      held.push_back(move.rangesOf(member));
    int64_t count = 1;
    for (const ShardRange &range : needs)
      count *= range.size;
    for (int64_t number = 0; number < count; ++number) {
      std::vector<int64_t> element;
      int64_t rest = number;
      for (size_t d = 0; d < needs.size(); ++d) {
        element.push_back(move.sourceOf(d, needs[d].start + rest % needs[d].size));
        rest /= needs[d].size;
      }
      if (std::find(element.begin(), element.end(), -1) != element.end())
        continue;
      bool isHeld = std::any_of(held.begin(), held.end(), [&](const std::vector<ShardRange> &ranges) {
        for (size_t d = 0; d < ranges.size(); ++d)
          if (element[d] < ranges[d].start || element[d] >= ranges[d].start + ranges[d].size)
            return false;
        return true;
      });
      if (!isHeld)
        return false;
    }
  }
  return true;
}

/// Whether every device needs a source element along every dimension: then each dimension matters.
bool needsAllDims(const RandomMove &move) {
  for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
    std::vector<ShardRange> needs = ownedRanges(mesh, move.target.shape, move.target.sharding, device);
    for (size_t d = 0; d < needs.size(); ++d) {
      bool isAny = false;
      for (int64_t i = 0; i < needs[d].size; ++i)
        isAny |= move.sourceOf(d, needs[d].start + i) >= 0;
      if (!isAny)
        return false;
    }
  }
  return true;
}

// Enough axes for every device, and none too many if every device needs elements.
TEST(DimMoves, ExchangedAxesAreThoseAlongWhichDevicesSend) {
  std::mt19937_64 random(23);
  int fewer = 0, minimal = 0;
  for (int i = 0; i < 1500; ++i) {
    RandomMove move(random, i % 3 == 0);
    std::vector<AxisRef> axes = exchangedAxes(mesh, move.source, move.target, move.moves);
    ASSERT_TRUE(groupsSuffice(move, axes)) << i;
    fewer += axes.size() < 3;
    if (!needsAllDims(move))
      continue;
    ++minimal;
    for (size_t axis = 0; axis < axes.size(); ++axis)
      ASSERT_FALSE(groupsSuffice(move, withoutAxis(axes, axis))) << i << " " << axes[axis].str();
  }
  EXPECT_GT(fewer, 300);
  EXPECT_GT(minimal, 150);
}

// A halo along one dimension of three.
TEST(DimMoves, ExchangedAxesOfAHalo) {
  ShardedShape array{{64, 64, 64}, {{{{"a"}}, {{"b"}}, {{"c"}}}, {}}};
  auto axesOfShift = [&](std::vector<int64_t> shifts, bool wraps) {
    std::vector<DimMove> moves;
    for (int64_t shift : shifts)
      moves.push_back({shift, 1, 0, 64, 0, 0, 0, 1, wraps && shift != 0});
    return exchangedAxes(mesh, array, array, moves);
  };
  EXPECT_EQ(axesOfShift({0, 1, 0}, false), std::vector<AxisRef>({{"b"}}));
  EXPECT_EQ(axesOfShift({0, 0, -1}, true), std::vector<AxisRef>({{"c"}}));
  EXPECT_EQ(axesOfShift({1, 0, -1}, true), std::vector<AxisRef>({{"a"}, {"c"}}));
  EXPECT_EQ(axesOfShift({0, 0, 0}, false), std::vector<AxisRef>());
  // Partial sums have to be added, even if no element moves.
  array.sharding = {{{{"a"}}, {}, {}}, {{"c"}}};
  ShardedShape sums{{64, 64, 64}, {{{{"a"}}, {}, {}}, {}}};
  EXPECT_EQ(exchangedAxes(mesh, array, sums, {}), std::vector<AxisRef>({{"c"}}));
}

// The largest number of devices of a job, each along one dimension or all along one.
TEST(DimMoves, ExchangedAxesOfManyDevices) {
  MeshShape many{{{"x", 128}, {"y", 128}}};
  ShardedShape rows{{1 << 14, 8}, {{{{"x"}, {"y"}}, {}}, {}}};
  std::vector<DimMove> up{{1, 1, 0, 1 << 14}, {0, 1, 0, 8}};
  EXPECT_EQ(exchangedAxes(many, rows, rows, up), std::vector<AxisRef>({{"x"}, {"y"}}));
  ShardedShape square{{1 << 14, 1 << 14}, {{{{"x"}}, {{"y"}}}, {}}};
  std::vector<DimMove> along{{0, 1, 0, 1 << 14}, {1, 1, 0, 1 << 14}};
  EXPECT_EQ(exchangedAxes(many, square, square, along), std::vector<AxisRef>({{"y"}}));
}

TEST(DimMoves, LocalStartsHoldForEveryDevice) {
  for (uint64_t seed = 6; seed < 16; ++seed) {
    std::mt19937_64 random(seed);
    int found = 0;
    for (int i = 0; i < 1000; ++i) {
      RandomMove move(random, i % 2 == 0);
      std::optional<std::vector<LocalStart>> starts = getLocalStarts(mesh, move.source, move.target, move.moves);
      if (!starts)
        continue;
      ++found;
      SCOPED_TRACE("seed " + std::to_string(seed) + " case " + std::to_string(i));
      expectStartsHold(move, *starts);
      if (HasFatalFailure())
        return;
    }
    EXPECT_GT(found, 100) << "seed " << seed;
  }
}

// Target positions without a source element are in the target as well, wherever they are.
TEST(DimMoves, NothingIsWithinTheTarget) {
  DimMove behind{-16, 1, 0, 12}, before{16, 1, 0, 12};
  EXPECT_EQ(movedRange(behind, {0, 13}, {0, 12}), (MovedRange{0, 0}));
  EXPECT_EQ(movedRange(before, {0, 13}, {4, 8}), (MovedRange{4, 0}));
  EXPECT_EQ(movedRange(before, {0, 0}, {4, 8}), (MovedRange{4, 0}));
}

// Axes of a thousand devices each: the count does not visit single devices.
TEST(DimMoves, ManyDevices) {
  MeshShape large{{{"x", 1 << 20}, {"y", 1 << 20}, {"z", 4}}};
  ShardedShape source{{64, 32}, {{{{"z"}}, {}}, {}}}, target{{64, 32}, {{{}, {{"z"}}}, {}}};
  EXPECT_EQ(missingElements(large, source, target), std::ldexp(4.0 * (64 * 8 - 16 * 8), 40));
}

// Also if they shard the same dimension on both sides, or are gathered: 2^20 + 1 elements, each needed by all 2^20
// devices along `x` and held by one.
TEST(DimMoves, ManyDevicesAlongOneDimension) {
  MeshShape large{{{"x", 1 << 20}, {"y", 1 << 20}, {"z", 4}}};
  ShardedShape whole{{(1 << 20) + 1, 32}, {{{}, {}}, {}}}, cut{{(1 << 20) + 1, 32}, {{{{"x"}, {"y"}}, {}}, {}}},
      more{{(1 << 20) + 1, 32}, {{{{"x"}, {"y"}}, {{"z"}}}, {}}};
  double elements = std::ldexp(1, 20) + 1;
  EXPECT_EQ(missingElements(large, cut, whole), 4 * 32 * elements * (std::ldexp(1, 40) - 1));
  EXPECT_EQ(missingElements(large, whole, cut), 0);
  EXPECT_EQ(missingElements(large, cut, more), 0);
  EXPECT_EQ(missingElements(large, more, cut), elements * (4 * 32 - 32));
  std::vector<DimMove> moves{{0, 1, 0, (1 << 20) + 1}, {1, 1, 0, 31}}; // Each but one of four shards lacks one element.
  EXPECT_EQ(missingElements(large, more, more, moves), elements * 3);
}

// Also if axes move from dimension to dimension and all shards have one size.
TEST(DimMoves, ManyDevicesFromDimensionToDimension) {
  MeshShape large{{{"x", 1 << 20}, {"y", 1 << 20}}};
  ShardedShape rows{{1 << 20, 1 << 21}, {{{{"x"}}, {}}, {}}}, columns{{1 << 20, 1 << 21}, {{{}, {{"x"}}}, {}}};
  EXPECT_EQ(missingElements(large, rows, columns), std::ldexp(std::ldexp(1, 21) - 2, 40));
}

} // namespace
