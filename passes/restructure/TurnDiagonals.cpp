//===- TurnDiagonals.cpp - diagonals along the sharded dimension ----------===//
//
// A diagonal is every (m + 1)th element of a matrix as one flat array. If the rows are sharded, each device has the
// elements of its own rows. If the columns are sharded, no device has contiguous elements of the flat array. But the
// diagonal is also one of the transposed matrix:
//
//   slice(reshape(x: f32[n, m@a]), start=r * m + c, step=m + 1)
//   slice(reshape(transpose(x): f32[m@a, n]), start=c * n + r, step=n + 1)
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "passes/restructure/Passes.h"

#include <numeric>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_TURNDIAGONALS
#include "passes/restructure/Passes.h.inc"

namespace {

/// The first of two dimensions that a reshape merges, if it keeps all others.
std::optional<int64_t> findMerged(ReshapeOp op) {
  ArrayRef<int64_t> from = op.getOperand().getType().getShape(), to = op.getType().getShape();
  if (from.size() != to.size() + 1)
    return std::nullopt;
  size_t dim = 0;
  while (dim < to.size() && from[dim] == to[dim])
    ++dim;
  bool isOne =
      dim < to.size() && from[dim] * from[dim + 1] == to[dim] && from.drop_front(dim + 2) == to.drop_front(dim + 1);
  return isOne ? std::make_optional(static_cast<int64_t>(dim)) : std::nullopt;
}

void turn(SliceOp op) {
  auto reshape = op.getOperand().getDefiningOp<ReshapeOp>();
  std::optional<int64_t> merged = reshape && reshape->hasOneUse() ? findMerged(reshape) : std::nullopt;
  if (!merged || isPerDevice(op) || op.getType().getNumElements() == 0)
    return;
  Value matrix = reshape.getOperand();
  ArrayType type = typeOf(matrix);
  ShardingAttr sharding = type.getSharding();
  int64_t row = *merged, rows = type.getDimSize(row), columns = type.getDimSize(row + 1);
  if (!sharding || !sharding.getUnreduced().empty() || !sharding.getDims()[row].getAxes().empty() ||
      sharding.getDims()[row + 1].getAxes().empty())
    return;
  int64_t start = op.getStarts()[row], stride = op.getStrides()[row], last = op.getType().getDimSize(row) - 1;
  int64_t firstRow = start / columns, firstColumn = start % columns, down = stride / columns, along = stride % columns;
  // Requires at most one element of each row and each column, to the right and down.
  if (down == 0 || along == 0 || firstColumn + last * along >= columns || firstRow + last * down >= rows)
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<int64_t> perm(type.getRank()), shape(type.getShape());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[row], perm[row + 1]);
  std::swap(shape[row], shape[row + 1]);
  SmallVector<DimShardingAttr> dims(sharding.getDims()), flat(dims);
  std::swap(dims[row], dims[row + 1]);
  flat.erase(flat.begin() + row);
  auto withDims = [&](ArrayRef<int64_t> sizes, ArrayRef<DimShardingAttr> list) {
    return type.withShape(sizes).withSharding(ShardingAttr::get(type.getContext(), list, sharding.getUnreduced()));
  };
  Value turned = builder.create<TransposeOp>(loc, withDims(shape, dims), matrix, perm);
  turned = builder.create<ReshapeOp>(loc, withDims(reshape.getType().getShape(), flat), turned);
  SmallVector<int64_t> starts(op.getStarts()), limits(op.getLimits()), strides(op.getStrides());
  starts[row] = firstColumn * rows + firstRow;
  strides[row] = along * rows + down;
  limits[row] = starts[row] + last * strides[row] + 1;
  Value diagonal = builder.create<SliceOp>(loc, op.getType(), turned, starts, limits, strides);
  diagonal.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.getResult().replaceAllUsesWith(diagonal);
  op->erase();
  reshape->erase();
}

class TurnDiagonalsPass : public impl::TurnDiagonalsBase<TurnDiagonalsPass> {
  void runOnOperation() override {
    SmallVector<SliceOp> ops;
    getOperation().walk([&](SliceOp op) { ops.push_back(op); });
    for (SliceOp op : ops)
      turn(op);
  }
};

} // namespace
} // namespace spmdc
