//===- MergedPositions.cpp - positions in merged dimensions ---------------===//

#include "passes/restructure/MergedPositions.h"

using namespace mlir;

namespace spmdc {

Value MergedPositions::toJoined(Value positions) const {
  Value shard, place, left = positions;
  int64_t shards = 1, inside = 1;
  // Starts at the last part, whose positions are consecutive.
  for (auto [i, part] : llvm::enumerate(llvm::reverse(dim.getParts()))) {
    bool isFirst = i + 1 == dim.getParts().size();
    Value here = isFirst ? left : rest(left, part.size);
    left = isFirst ? left : over(left, part.size);
    int64_t minor = 1;
    for (const MergedDim::AxisSplit &split : part.splits)
      minor *= split.count;
    int64_t all = minor;
    for (const MergedDim::AxisSplit &split : part.splits) {
      minor /= split.count;
      shard = sum(shard, times(over(here, split.size), shards * minor));
      here = rest(here, split.size);
    }
    shards *= all;
    place = sum(place, times(here, inside));
    inside *= part.getShardSize();
  }
  return add(times(shard, dim.getShardSize()), place);
}

SmallVector<MergedPositions::Extent> MergedPositions::listExtents(Value shards) const {
  SmallVector<Extent> extents;
  int64_t minor = dim.getNumShards();
  for (const MergedDim::Part &part : dim.getParts()) {
    Extent extent{{}, part.isPadded ? like(shards, part.size) : Value()};
    for (const MergedDim::AxisSplit &split : part.splits) {
      bool isFirst = minor == dim.getNumShards();
      minor /= split.count;
      Value number = over(shards, minor), begin = times(isFirst ? number : rest(number, split.count), split.size);
      extent.start = sum(extent.start, begin);
      if (extent.size)
        extent.size = clamp(subtract(extent.size, begin), 0, split.size);
    }
    extents.push_back(extent);
  }
  return extents;
}

Value MergedPositions::countAll(ArrayRef<Extent> extents) const {
  Value count;
  int64_t full = 1;
  for (auto [part, extent] : llvm::zip(dim.getParts(), extents)) {
    if (!extent.size)
      full *= part.getShardSize();
    else
      count = count ? times(count, extent.size) : extent.size;
  }
  return count ? times(count, full) : Value();
}

MergedPositions::Found MergedPositions::find(Value shards, Value ordinals) const {
  SmallVector<Extent> extents = listExtents(shards);
  Found found;
  Value left = ordinals;
  int64_t inside = 1, stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    const MergedDim::Part &part = dim.getParts()[i];
    Value here = left, start = extents[i].start;
    if (i > 0) {
      Value size = extents[i].size ? clamp(extents[i].size, 1, part.getShardSize()) : like(left, part.getShardSize());
      here = rest(left, size);
      left = over(left, size);
    }
    found.shardIndices = sum(found.shardIndices, times(here, inside));
    found.positions = sum(found.positions, times(start ? add(here, start) : here, stride));
    inside *= part.getShardSize();
    stride *= part.size;
  }
  if (Value count = countAll(extents))
    found.isValid = compare(ordinals, ComparisonDirection::lt, count);
  return found;
}

Value MergedPositions::countMissing(Value shards) const {
  Value count = countAll(listExtents(shards));
  return count ? subtract(like(count, dim.getShardSize()), count) : like(shards, 0);
}

} // namespace spmdc
