//===- HaloDims.cpp - contributions to other shards -----------------------===//

#include "passes/collectives/HaloDims.h"

#include "passes/exchange/WindowDims.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace spmdc {
namespace {

/// With more halos than this, the shards of the terms and those of the sum hardly correspond.
constexpr size_t kMostEdges = 8;

/// The distance between the places that elements move to.
int64_t getStep(llvm::ArrayRef<spmd::DimMove> moves) {
  int64_t step = moves.front().dilation;
  for (const spmd::DimMove &move : moves)
    step = std::gcd(step, move.shift - moves.front().shift);
  return step;
}

} // namespace

std::optional<HaloDim> findEdges(int64_t sourceSize, int64_t size, const std::vector<int64_t> &axisSizes,
                                 llvm::ArrayRef<spmd::DimMove> moves) {
  if (sourceSize == 0 || size == 0)
    return std::nullopt;
  HaloDim dim;
  dim.piece = spmd::localDimSize(size, axisSizes);
  dim.sourceSize = sourceSize;
  dim.sourcePiece = spmd::localDimSize(sourceSize, axisSizes);
  dim.dilation = moves.front().dilation;
  std::vector<spmd::ShardRange> pieces = listPieces(size, axisSizes), sources = listPieces(sourceSize, axisSizes);
  dim.pieces = static_cast<int64_t>(pieces.size());
  for (int64_t i = 0; i < dim.pieces; ++i)
    if (pieces[i].size > 0 && pieces[i].start != i * dim.piece)
      return std::nullopt;
  // Where the first of several ranges begins and the last one ends, over the shards: kept for the halos of each
  // distance, and for the windows.
  struct Ends {
    int64_t firstPiece = 0, firstPlace = 0, lastPiece = -1, lastPlace = 0;

    void add(int64_t piece, int64_t begin, int64_t end) {
      bool isFirst = lastPiece < 0;
      if (isFirst || piece < firstPiece || (piece == firstPiece && begin < firstPlace)) {
        firstPiece = piece;
        firstPlace = begin;
      }
      if (isFirst || piece > lastPiece || (piece == lastPiece && end > lastPlace)) {
        lastPiece = piece;
        lastPlace = end;
      }
    }
  };
  std::map<int64_t, std::pair<HaloDim::Edge, Ends>> edges;
  Ends windows;
  bool isFirst = true;
  for (int64_t device = 0; device < dim.pieces; ++device) {
    const spmd::ShardRange &source = sources[device];
    if (source.size == 0)
      continue;
    int64_t own = device * dim.piece, start = dim.dilation * source.start - own;
    dim.leastStart = isFirst ? start : std::min(dim.leastStart, start);
    dim.greatestStart = isFirst ? start : std::max(dim.greatestStart, start);
    isFirst = false;
    for (const spmd::DimMove &move : moves) {
      spmd::MovedRange moved = spmd::movedRange(move, source, {0, size});
      if (moved.size == 0)
        continue;
      dim.low = std::max(dim.low, own - moved.start);
      dim.high = std::max(dim.high, moved.end() - own - dim.piece);
      windows.add(device, moved.start - own, moved.end() - own);
      for (int64_t other = moved.start / dim.piece; other <= (moved.end() - 1) / dim.piece; ++other) {
        spmd::MovedRange inside = spmd::movedRange(move, source, pieces[other]);
        if (other == device || inside.size == 0)
          continue;
        HaloDim::Edge part{other - device, inside.start - own, inside.end() - own};
        auto [entry, isNew] = edges.try_emplace(part.distance, part, Ends());
        if (isNew && edges.size() > kMostEdges)
          return std::nullopt;
        auto &[edge, ends] = entry->second;
        edge.begin = std::min(edge.begin, part.begin);
        edge.end = std::max(edge.end, part.end);
        ends.add(other, part.begin, part.end);
      }
    }
  }
  dim.first = windows.firstPiece * dim.getLength() + dim.low + windows.firstPlace;
  dim.last = windows.lastPiece * dim.getLength() + dim.low + windows.lastPlace;
  for (auto &[distance, entry] : edges) {
    auto &[edge, ends] = entry;
    if (dim.isSameEverywhere())
      edge.step = getStep(moves);
    edge.first = ends.firstPiece * edge.getLength() + (ends.firstPlace - edge.begin) / edge.step;
    edge.last = ends.lastPiece * edge.getLength() + (ends.lastPlace - 1 - edge.begin) / edge.step + 1;
    dim.edges.push_back(edge);
  }
  return dim;
}

} // namespace spmdc
