//===- WindowDims.cpp - windows along one dimension -----------------------===//

#include "passes/exchange/WindowDims.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace spmdc {
namespace {

using Range = WindowDim::Range;

Range unite(const Range &a, const Range &b) {
  if (a.isEmpty() || b.isEmpty())
    return a.isEmpty() ? b : a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

int64_t getAnyElement(const WindowDim &dim) {
  return std::find_if(dim.ranges.begin(), dim.ranges.end(), [](const Range &range) { return !range.isEmpty(); })->begin;
}

} // namespace

std::vector<spmd::ShardRange> listShardRanges(int64_t size, const std::vector<int64_t> &axisSizes) {
  std::vector<spmd::ShardRange> shards;
  std::vector<int64_t> coordinates(axisSizes.size());
  while (true) {
    shards.push_back(spmd::shardRange(size, axisSizes, coordinates));
    size_t next = axisSizes.size();
    while (next > 0 && ++coordinates[next - 1] == axisSizes[next - 1])
      coordinates[--next] = 0;
    if (next == 0)
      return shards;
  }
}

ShardedDim getShardedDim(const spmd::MeshShape &mesh, ArrayType type, int64_t dim) {
  std::vector<int64_t> sizes = spmd::sizesOf(mesh, type.getShardingOrOpen().toValue().dims[dim]);
  int64_t size = type.getDimSize(dim);
  return {size, spmd::localDimSize(size, sizes), listShardRanges(size, sizes)};
}

int64_t WindowDim::getFirst() const {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (int64_t i = 0; i < getNumShards(); ++i)
    if (!ranges[i].isEmpty())
      first = std::min(first, ranges[i].begin - getOffset(i));
  return first;
}

int64_t WindowDim::getLength() const {
  // The window of a short shard is shorter by the elements that the shard lacks.
  int64_t first = getFirst(), length = 0;
  for (int64_t i = 0; i < getNumShards(); ++i)
    if (!ranges[i].isEmpty()) {
      int64_t places = (ranges[i].end - 1 - getOffset(i) - first) / stride + 1;
      length = std::max(length, places + (result.shard - result.shards[i].size) * step / stride);
    }
  return length;
}

spmd::DimMove WindowDim::getMove() const {
  int64_t first = getFirst(), length = getLength(), begin = -1, end = 0;
  for (int64_t i = 0; i < getNumShards(); ++i) {
    if (ranges[i].isEmpty())
      continue;
    if (begin < 0)
      begin = i * length + (ranges[i].begin - getOffset(i) - first) / stride;
    end = i * length + (ranges[i].end - 1 - getOffset(i) - first) / stride + 1;
  }
  bool isContiguous = true; // Windows are adjacent in the array.
  for (int64_t i = 0; i < getNumShards(); ++i)
    isContiguous &= ranges[i].isEmpty() || getOffset(i) == i * length * stride;
  if (isContiguous)
    return {first, stride, begin, end, 0, 0, 0, 1, wraps};
  return {first, stride, begin, end, length, step, result.size, 1, wraps};
}

bool WindowDim::canFollowShardsOf(const WindowDim &other) const {
  for (int64_t i = 0; i < getNumShards(); ++i)
    if (!ranges[i].isEmpty() && (other.result.shards[i].size == 0 || getOffset(i) != other.getOffset(i)))
      return false;
  return true;
}

bool WindowDim::canMerge(const WindowDim &other) const {
  return getNumShards() == other.getNumShards() && (canFollowShardsOf(other) || other.canFollowShardsOf(*this));
}

void WindowDim::add(const WindowDim &other) {
  WindowDim both = *this, following = other;
  // A dimension that does not wrap reads nothing before the first element and behind the last one.
  both.wraps = following.wraps = wraps || other.wraps;
  both.stride = std::gcd(std::gcd(stride, other.stride), getAnyElement(*this) - getAnyElement(other));
  for (size_t i = 0; i < ranges.size(); ++i)
    both.ranges[i] = unite(ranges[i], other.ranges[i]);
  following.stride = both.stride;
  following.ranges = both.ranges;
  // Short shards make all windows longer.
  bool isOwn = other.canFollowShardsOf(*this), isOthers = canFollowShardsOf(other);
  *this = isOwn && (!isOthers || both.getLength() <= following.getLength()) ? both : following;
}

} // namespace spmdc
