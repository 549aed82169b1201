//===- WindowDims.cpp - what devices look at of a cut dimension -----------===//

#include "passes/partition/WindowDims.h"

#include <algorithm>

namespace spmdc {
namespace {

using Range = WindowDim::Range;

Range unite(const Range &a, const Range &b) {
  if (a.isEmpty() || b.isEmpty())
    return a.isEmpty() ? b : a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

template <typename Looks> Range findPieces(const std::vector<Range> &looked, Looks looks) {
  Range pieces;
  for (int64_t i = 0; i < static_cast<int64_t>(looked.size()); ++i)
    if (!looked[i].isEmpty() && looks(i, looked[i]))
      pieces = unite(pieces, {i, i + 1});
  return pieces;
}

} // namespace

std::optional<CutDim> getCutDim(const spmd::MeshShape &mesh, ArrayType type, int64_t dim) {
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  CutDim cut{type.getDimSize(dim)};
  std::vector<int64_t> sizes;
  for (const spmd::AxisRef &axis : sharding.dims[dim]) {
    sizes.push_back(axis.sizeIn(mesh));
    cut.pieces *= sizes.back();
  }
  cut.piece = spmd::localDimSize(cut.size, sizes);
  if (sizes.size() > 1 && cut.size != cut.pieces * cut.piece)
    return std::nullopt;
  return cut;
}

int64_t WindowDim::getLow() const {
  int64_t low = 0;
  if (!isCut)
    return low;
  for (int64_t i = 0; i < getPieces(); ++i)
    if (!looked[i].isEmpty())
      low = std::max(low, start + i * piece - looked[i].begin);
  return low;
}

int64_t WindowDim::getHigh() const {
  int64_t high = 0;
  if (!isCut)
    return high;
  for (int64_t i = 0; i < getPieces(); ++i)
    if (!looked[i].isEmpty())
      high = std::max(high, looked[i].end - start - (i + 1) * piece);
  return high;
}

bool WindowDim::looksBeyond() const {
  Range extent = getExtent();
  bool isBefore = extent.begin<start, isBehind = extent.end> start + getPieces() * piece;
  return isCut && !extent.isEmpty() && (isBefore || isBehind);
}

std::vector<int64_t> WindowDim::listStarts() const {
  std::vector<int64_t> starts{start};
  if (int64_t low = getLow(); low > 0)
    starts.push_back(start - low);
  if (int64_t high = getHigh(); high > 0)
    starts.push_back(start + high);
  return starts;
}

Range WindowDim::getPiecesLookingBefore(int64_t distance) const {
  return findPieces(looked, [&](int64_t i, const Range &range) { return start + i * piece - range.begin >= distance; });
}

Range WindowDim::getPiecesLookingBehind(int64_t distance) const {
  return findPieces(looked,
                    [&](int64_t i, const Range &range) { return range.end - start - (i + 1) * piece >= distance; });
}

Range WindowDim::getExtent() const {
  Range extent;
  for (const Range &range : looked)
    extent = unite(extent, range);
  return extent;
}

Range WindowDim::getExtentInPieces(int64_t length) const {
  Range extent;
  int64_t low = getLow();
  for (int64_t i = 0; i < getPieces(); ++i) {
    int64_t move = i * length - (start + i * piece - low);
    if (!looked[i].isEmpty())
      extent = unite(extent, {looked[i].begin + move, looked[i].end + move});
  }
  return extent;
}

void WindowDim::add(const WindowDim &other) {
  for (size_t i = 0; i < looked.size(); ++i)
    looked[i] = unite(looked[i], other.looked[i]);
}

} // namespace spmdc
