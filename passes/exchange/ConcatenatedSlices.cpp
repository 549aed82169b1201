//===- ConcatenatedSlices.cpp - consecutive slices of one array -----------===//

#include "passes/exchange/ConcatenatedSlices.h"

#include "ir/array/LocalBuilder.h"
#include "passes/exchange/ArrayMoves.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The value, the operand of the slice that defines it, and so on through all slices; the value comes first.
SmallVector<Value> listSliced(Value value) {
  SmallVector<Value> values = {value};
  while (auto slice = values.back().getDefiningOp<SliceOp>())
    values.push_back(slice.getOperand());
  return values;
}

/// `part` as a move of `array`, looking through the slices between; nothing if the slices do not compose into one move.
std::optional<ArrayMove> composeThroughSlices(ArrayMove part, Value array, SmallVectorImpl<Operation *> &slices) {
  while (part.source != array) {
    auto slice = part.source.getDefiningOp<SliceOp>();
    std::optional<ArrayMove> move = slice ? composeMoves(part, slice.getMoves().parts[0]) : std::nullopt;
    if (!move)
      return std::nullopt;
    slices.push_back(slice);
    part = *move;
  }
  return part;
}

/// One move that replaces moves of one array to consecutive places of a dimension; nothing if there is no such move.
std::optional<ArrayMove> mergeMoves(ArrayRef<ArrayMove> moves, int64_t dim) {
  ArrayMove joined = moves.front();
  spmd::DimMove &all = joined.dims[dim];
  int64_t size = typeOf(joined.source).getDimSize(dim);
  for (const ArrayMove &move : moves) {
    const spmd::DimMove &next = move.dims[dim];
    bool isWithin = next.begin + next.shift >= 0 && next.end + next.shift <= size;
    if (move.source != joined.source || size == 0 || next.stride != 1 || next.dilation != 1 || next.length != 0 ||
        next.block != 1 || (!next.wraps && !isWithin))
      return std::nullopt;
    ArrayMove same = move;
    same.dims[dim] = all;
    bool isNext = &move == &moves.front() || (next.begin == all.end && (next.shift - all.shift) % size == 0);
    if (same.dims != joined.dims || !isNext)
      return std::nullopt;
    all.end = next.end;
    all.wraps |= next.wraps || next.shift != all.shift;
  }
  if (all.wraps) { // The shorter way round: fewer elements change devices.
    all.shift = (all.shift % size + size) % size;
    if (all.shift > size / 2)
      all.shift -= size;
  }
  return joined;
}

} // namespace

std::optional<ConcatenatedSlices> matchConcatenatedSlices(ArrayRef<ArrayMove> parts, int64_t dim) {
  for (Value array : listSliced(parts.front().source)) {
    ConcatenatedSlices joined;
    SmallVector<ArrayMove> moves;
    for (const ArrayMove &part : parts) {
      std::optional<ArrayMove> move = composeThroughSlices(part, array, joined.slices);
      if (!move)
        break;
      moves.push_back(*move);
    }
    std::optional<ArrayMove> all = moves.size() == parts.size() ? mergeMoves(moves, dim) : std::nullopt;
    if (all) {
      joined.move = *all;
      return joined;
    }
  }
  return std::nullopt;
}

std::optional<ConcatenatedSlices> matchConcatenatedSlices(Operation *op) {
  auto concatenate = dyn_cast<ConcatenateOp>(op);
  if (!concatenate || concatenate->getNumOperands() < 2)
    return std::nullopt;
  return matchConcatenatedSlices(concatenate.getMoves().parts, static_cast<int64_t>(concatenate.getDim()));
}

} // namespace spmdc
