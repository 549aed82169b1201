//===- MergedPositions.cpp - positions in merged dimensions ---------------===//

#include "passes/restructure/MergedPositions.h"

using namespace mlir;

namespace spmdc {

Value MergedPositions::toJoined(Value positions) const {
  Value piece, place, left = positions;
  int64_t pieces = 1, inside = 1;
  // Starts at the last part, whose positions are consecutive.
  for (auto [i, part] : llvm::enumerate(llvm::reverse(dim.getParts()))) {
    bool isFirst = i + 1 == dim.getParts().size();
    Value here = isFirst ? left : rest(left, part.size);
    left = isFirst ? left : over(left, part.size);
    int64_t minor = 1;
    for (const MergedDim::Cut &cut : part.cuts)
      minor *= cut.count;
    int64_t all = minor;
    for (const MergedDim::Cut &cut : part.cuts) {
      minor /= cut.count;
      piece = sum(piece, times(over(here, cut.size), pieces * minor));
      here = rest(here, cut.size);
    }
    pieces *= all;
    place = sum(place, times(here, inside));
    inside *= part.getPiece();
  }
  return add(times(piece, dim.getPiece()), place);
}

SmallVector<MergedPositions::Extent> MergedPositions::listExtents(Value pieces) const {
  SmallVector<Extent> extents;
  int64_t minor = dim.getPieces();
  for (const MergedDim::Part &part : dim.getParts()) {
    Extent extent{{}, part.isPadded ? like(pieces, part.size) : Value()};
    for (const MergedDim::Cut &cut : part.cuts) {
      bool isFirst = minor == dim.getPieces();
      minor /= cut.count;
      Value number = over(pieces, minor), begin = times(isFirst ? number : rest(number, cut.count), cut.size);
      extent.start = sum(extent.start, begin);
      if (extent.size)
        extent.size = clamp(subtract(extent.size, begin), 0, cut.size);
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
      full *= part.getPiece();
    else
      count = count ? times(count, extent.size) : extent.size;
  }
  return count ? times(count, full) : Value();
}

MergedPositions::Found MergedPositions::find(Value pieces, Value ordinals) const {
  SmallVector<Extent> extents = listExtents(pieces);
  Found found;
  Value left = ordinals;
  int64_t inside = 1, stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    const MergedDim::Part &part = dim.getParts()[i];
    Value here = left, start = extents[i].start;
    if (i > 0) {
      Value size = extents[i].size ? clamp(extents[i].size, 1, part.getPiece()) : like(left, part.getPiece());
      here = rest(left, size);
      left = over(left, size);
    }
    found.places = sum(found.places, times(here, inside));
    found.positions = sum(found.positions, times(start ? add(here, start) : here, stride));
    inside *= part.getPiece();
    stride *= part.size;
  }
  if (Value count = countAll(extents))
    found.isThere = compare(ordinals, ComparisonDirection::lt, count);
  return found;
}

Value MergedPositions::countMissing(Value pieces) const {
  Value count = countAll(listExtents(pieces));
  return count ? subtract(like(count, dim.getPiece()), count) : like(pieces, 0);
}

} // namespace spmdc
