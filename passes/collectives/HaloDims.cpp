//===- HaloDims.cpp - contributions to other shards -----------------------===//

#include "passes/collectives/HaloDims.h"

#include "passes/exchange/WindowDims.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace spmdc {
namespace {

/// With more halos than this, the shards of the terms and those of the sum hardly correspond.
constexpr size_t kMaxHalos = 8;

/// The distance between the places that elements move to.
int64_t getStep(llvm::ArrayRef<spmd::DimMove> moves) {
  int64_t step = moves.front().dilation;
  for (const spmd::DimMove &move : moves)
    step = std::gcd(step, move.shift - moves.front().shift);
  return step;
}

} // namespace

std::optional<HaloDim> findHalos(int64_t sourceSize, int64_t size, const std::vector<int64_t> &axisSizes,
                                 llvm::ArrayRef<spmd::DimMove> moves) {
  if (sourceSize == 0 || size == 0)
    return std::nullopt;
  HaloDim dim;
  dim.shard = spmd::localDimSize(size, axisSizes);
  dim.sourceSize = sourceSize;
  dim.sourceShard = spmd::localDimSize(sourceSize, axisSizes);
  dim.dilation = moves.front().dilation;
  std::vector<spmd::ShardRange> shards = listShardRanges(size, axisSizes),
                                sources = listShardRanges(sourceSize, axisSizes);
  dim.shards = static_cast<int64_t>(shards.size());
  for (int64_t i = 0; i < dim.shards; ++i)
    if (shards[i].size > 0 && shards[i].start != i * dim.shard)
      return std::nullopt;
  // Where the first of several ranges begins and the last one ends, over the shards: kept for the halos of each
  // distance, and for the windows.
  struct Ends {
    int64_t firstShard = 0, firstPlace = 0, lastShard = -1, lastPlace = 0;

    void add(int64_t shard, int64_t begin, int64_t end) {
      bool isFirst = lastShard < 0;
      if (isFirst || shard < firstShard || (shard == firstShard && begin < firstPlace)) {
        firstShard = shard;
        firstPlace = begin;
      }
      if (isFirst || shard > lastShard || (shard == lastShard && end > lastPlace)) {
        lastShard = shard;
        lastPlace = end;
      }
    }
  };
  std::map<int64_t, std::pair<HaloDim::Halo, Ends>> halos;
  Ends windows;
  bool isFirst = true;
  for (int64_t device = 0; device < dim.shards; ++device) {
    const spmd::ShardRange &source = sources[device];
    if (source.size == 0)
      continue;
    int64_t own = device * dim.shard, start = dim.dilation * source.start - own;
    dim.leastStart = isFirst ? start : std::min(dim.leastStart, start);
    dim.greatestStart = isFirst ? start : std::max(dim.greatestStart, start);
    isFirst = false;
    for (const spmd::DimMove &move : moves) {
      spmd::MovedRange moved = spmd::movedRange(move, source, {0, size});
      if (moved.size == 0)
        continue;
      dim.low = std::max(dim.low, own - moved.start);
      dim.high = std::max(dim.high, moved.end() - own - dim.shard);
      windows.add(device, moved.start - own, moved.end() - own);
      for (int64_t other = moved.start / dim.shard; other <= (moved.end() - 1) / dim.shard; ++other) {
        spmd::MovedRange inside = spmd::movedRange(move, source, shards[other]);
        if (other == device || inside.size == 0)
          continue;
        HaloDim::Halo part{other - device, inside.start - own, inside.end() - own};
        auto [entry, isNew] = halos.try_emplace(part.distance, part, Ends());
        if (isNew && halos.size() > kMaxHalos)
          return std::nullopt;
        auto &[halo, ends] = entry->second;
        halo.begin = std::min(halo.begin, part.begin);
        halo.end = std::max(halo.end, part.end);
        ends.add(other, part.begin, part.end);
      }
    }
  }
  dim.first = windows.firstShard * dim.getLength() + dim.low + windows.firstPlace;
  dim.last = windows.lastShard * dim.getLength() + dim.low + windows.lastPlace;
  for (auto &[distance, entry] : halos) {
    auto &[halo, ends] = entry;
    if (dim.isSameEverywhere())
      halo.step = getStep(moves);
    halo.first = ends.firstShard * halo.getLength() + (ends.firstPlace - halo.begin) / halo.step;
    halo.last = ends.lastShard * halo.getLength() + (ends.lastPlace - 1 - halo.begin) / halo.step + 1;
    dim.halos.push_back(halo);
  }
  return dim;
}

} // namespace spmdc
