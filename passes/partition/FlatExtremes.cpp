//===- FlatExtremes.cpp - where the extreme element of a whole array is ---===//

#include "passes/partition/FlatExtremes.h"

using namespace mlir;

namespace spmdc {
namespace {

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

/// Without the last dimension.
ArrayType dropLast(ArrayType type) {
  ShardingAttr sharding = type.getShardingOrOpen();
  return type.withShape(type.getShape().drop_back())
      .withSharding(ShardingAttr::get(type.getContext(), sharding.getDims().drop_back(), {}));
}

bool isCutBehindFirst(ArrayType type) {
  return llvm::any_of(type.getShardingOrOpen().getDims().drop_front(),
                      [](DimShardingAttr dim) { return !dim.getAxes().empty(); });
}

} // namespace

void splitFlatExtreme(ArgReduceOp op) {
  auto reshape = op.getOperand().getDefiningOp<ReshapeOp>();
  Value left = reshape ? reshape.getOperand() : Value();
  if (!left || op.getOperand().getType().getRank() != 1 || typeOf(left).getRank() < 2 ||
      !isCutBehindFirst(typeOf(left)) || !typeOf(left).getShardingOrOpen().getUnreduced().empty())
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  ArrayType index = op.getType();
  SmallVector<int64_t> sizes(typeOf(left).getShape());
  ReductionKind kind = op.getIsMax() ? ReductionKind::max : ReductionKind::min;
  SmallVector<Value> positions(sizes.size()); // Of the extreme along each dimension, for all places of those before it.
  for (size_t dim = sizes.size(); dim-- > 0;) {
    auto along = static_cast<int64_t>(dim);
    ArrayType rest = dropLast(typeOf(left));
    positions[dim] =
        b.create<ArgReduceOp>(loc, rest.withElementType(index.getElementType()), left, op.getIsMax(), along);
    if (dim > 0)
      left = b.create<ReduceOp>(loc, rest, left, kind, ArrayRef<int64_t>{along});
  }
  SmallVector<Value> place = {positions.front()};
  Value flat = positions.front();
  for (size_t dim = 1; dim < sizes.size(); ++dim) {
    SmallVector<int64_t> one(dim, 1);
    ArrayType type = typeOf(positions[dim]).withShape(one);
    type = type.withSharding(ShardingAttr::getReplicated(b.getContext(), type.getRank(), /*isClosed=*/true));
    Value found = b.create<DynamicSliceOp>(loc, type, positions[dim], place, one);
    found = b.create<ReshapeOp>(loc, index, found);
    place.push_back(found);
    Value size = b.create<ConstantOp>(loc, index, Scalar::ofInt(sizes[dim]));
    flat = b.create<AddOp>(loc, b.create<MultiplyOp>(loc, flat, size), found);
  }
  op.replaceAllUsesWith(flat);
  op.erase();
  if (reshape->use_empty())
    reshape->erase();
}

} // namespace spmdc
