//===- LocalBuilder.h - index arithmetic of one device ----------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/array/Positions.h"

namespace spmdc {

/// The axes over which a dimension of an array is sharded.
inline llvm::ArrayRef<AxisRefAttr> axesOf(mlir::Value global, int64_t dim) {
  return typeOf(global).getShardingOrOpen().getDims()[dim].getAxes();
}

/// The element-wise operation that combines two values of a reduction.
mlir::Value createCombination(mlir::OpBuilder &b, mlir::Location loc, ReductionKind kind, mlir::Value x, mlir::Value y);

/// The reduction of some dimensions, which the result lacks.
mlir::Value createReduce(mlir::OpBuilder &b, mlir::Location loc, mlir::Value operand, ReductionKind kind,
                         llvm::ArrayRef<int64_t> dims);

/// `count` elements `begin`, `begin` + `stride`, ... of a dimension; the operand itself if these are all of them.
mlir::Value createSlice(mlir::OpBuilder &b, mlir::Location loc, mlir::Value operand, int64_t dim, int64_t begin,
                        int64_t count, int64_t stride = 1);

/// Builds the local code of operations on sharded dimensions: positions, masks of the positions that a device owns.
/// Positions are i32 or i64 (Positions.h); if two operands differ in that, the narrower one is widened.
class LocalBuilder {
public:
  LocalBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  /// The type of positions among devices, loop counters and other numbers that are small for arrays of any size.
  ArrayType indexType() const { return ArrayType::get({}, b.getI32Type()); }

  /// The type of positions along a dimension of `size` elements.
  ArrayType positionType(int64_t size, llvm::ArrayRef<int64_t> shape = {}) const {
    return ArrayType::get(shape, getPositionType(b.getContext(), size));
  }

  /// A constant of type i32, or i64 if the value does not fit.
  mlir::Value splat(llvm::ArrayRef<int64_t> shape, int64_t value) const {
    return b.create<ConstantOp>(loc, ArrayType::get(shape, b.getIntegerType(llvm::isInt<32>(value) ? 32 : 64)),
                                Scalar::ofInt(value));
  }

  /// The identity of a sum, for elements that other devices own: -0, because -0 + x is x for every x, -0 included.
  mlir::Value nothing(ArrayType type) const {
    bool isFloat = llvm::isa<mlir::FloatType>(type.getElementType());
    return b.create<ConstantOp>(loc, type, isFloat ? Scalar::ofFloat(-0.0) : Scalar());
  }

  /// Broadcasts an array to this shape; its dimensions become `dims` of the result.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims = {}) const {
    return b.create<BroadcastInDimOp>(loc, typeOf(value).withShape(shape), value, dims);
  }

  mlir::Value clamp(mlir::Value index, int64_t high) const {
    llvm::ArrayRef<int64_t> shape = typeOf(index).getShape();
    mlir::Value limit = splat(shape, high);
    widen(index, limit);
    mlir::Value zero = b.create<ConstantOp>(loc, typeOf(index), Scalar::ofInt(0));
    return b.create<ClampOp>(loc, index.getType(), zero, index, limit);
  }

  /// The position of this device's first element.
  mlir::Value shardStart(int64_t size, llvm::ArrayRef<AxisRefAttr> axes) const {
    return b.create<ShardStartOp>(loc, positionType(size), size, AxesAttr::get(b.getContext(), axes));
  }

  /// The number of elements of this device's shard that are not padding.
  mlir::Value shardSize(int64_t size, llvm::ArrayRef<AxisRefAttr> axes) const {
    return b.create<ShardSizeOp>(loc, positionType(size), size, AxesAttr::get(b.getContext(), axes));
  }

  mlir::Value add(mlir::Value x, mlir::Value y) const {
    widen(x, y);
    return b.create<AddOp>(loc, x, y);
  }
  mlir::Value subtract(mlir::Value x, mlir::Value y) const {
    widen(x, y);
    return b.create<SubtractOp>(loc, x, y);
  }
  mlir::Value multiply(mlir::Value x, mlir::Value y) const {
    widen(x, y);
    return b.create<MultiplyOp>(loc, x, y);
  }
  mlir::Value remainder(mlir::Value x, mlir::Value y) const {
    widen(x, y);
    return b.create<RemainderOp>(loc, x, y);
  }

  /// `x + scalar` for every element.
  mlir::Value offset(mlir::Value x, mlir::Value scalar, bool isSubtracted = false) const {
    mlir::Value everywhere = broadcast(scalar, typeOf(x).getShape());
    return isSubtracted ? subtract(x, everywhere) : add(x, everywhere);
  }

  mlir::Value compare(mlir::Value x, mlir::Value y, ComparisonDirection direction) const {
    widen(x, y);
    return b.create<CompareOp>(loc, typeOf(x).withElementType(b.getI1Type()), x, y, direction);
  }

  /// 0 <= index < bound (a scalar)
  mlir::Value isWithin(mlir::Value index, mlir::Value bound) const {
    llvm::ArrayRef<int64_t> shape = typeOf(index).getShape();
    mlir::Value fromLow = compare(index, splat(shape, 0), ComparisonDirection::ge);
    mlir::Value belowHigh = compare(index, broadcast(bound, shape), ComparisonDirection::lt);
    return b.create<AndOp>(loc, fromLow, belowHigh);
  }

  mlir::Value select(mlir::Value predicate, mlir::Value onTrue, mlir::Value onFalse) const {
    return b.create<SelectOp>(loc, onTrue.getType(), predicate, onTrue, onFalse);
  }

  /// Positions relative to this device's shard of a dimension of `size` elements, and a mask of those that it owns.
  std::pair<mlir::Value, mlir::Value> localize(mlir::Value positions, int64_t size,
                                               llvm::ArrayRef<AxisRefAttr> axes) const {
    mlir::Value local = offset(positions, shardStart(size, axes), /*isSubtracted=*/true);
    return {local, isWithin(local, shardSize(size, axes))};
  }

  /// A `take` at global positions (which are in range) of a sharded dimension: `nothing` where another device owns the
  /// element.
  mlir::Value takeOwned(mlir::Value operand, mlir::Value positions, int64_t dim, int64_t size,
                        llvm::ArrayRef<AxisRefAttr> axes) const {
    auto [local, isOwned] = localize(positions, size, axes);
    mlir::Value taken = b.create<TakeOp>(loc, operand, local, dim);
    llvm::SmallVector<int64_t> dims;
    for (int64_t d = 0; d < typeOf(positions).getRank(); ++d)
      dims.push_back(dim + d);
    mlir::Value mask = broadcast(isOwned, typeOf(taken).getShape(), dims);
    return select(mask, taken, nothing(typeOf(taken)));
  }

  /// start, start + 1, ..., from a scalar start.
  mlir::Value countFrom(mlir::Value start, int64_t count) const {
    return offset(b.create<IotaOp>(loc, typeOf(start).withShape({count}), /*dim=*/0), start);
  }

private:
  /// Converts the narrower of two positions to the type of the wider one. Other operands do not change.
  void widen(mlir::Value &x, mlir::Value &y) const {
    for (auto [narrow, wide] : {std::pair(&x, &y), std::pair(&y, &x)})
      if (typeOf(*narrow).getElementType().isSignlessInteger(32) &&
          typeOf(*wide).getElementType().isSignlessInteger(64))
        *narrow = b.create<ConvertOp>(loc, typeOf(*narrow).withElementType(b.getI64Type()), *narrow);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace spmdc
