//===- IndexArithmetic.h - arithmetic on sharded indices --------*- C++ -*-===//
//
// Arithmetic on arrays of positions (i32 or i64, all operands of one type) in the global view, under any sharding.
// LocalBuilder (ir/array/LocalBuilder.h) has the arithmetic of one device.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// A base class: all functions are protected. They build at the builder's insertion point; operands and results have
/// the same sharding.
class IndexArithmetic {
public:
  IndexArithmetic(mlir::OpBuilder &builder, mlir::Location where) : builder(builder), where(where) {}

protected:
  mlir::Value number(ArrayType type, int64_t value) const {
    return builder.create<ConstantOp>(where, type, Scalar::ofInt(value));
  }
  mlir::Value like(mlir::Value x, int64_t value) const { return number(llvm::cast<ArrayType>(x.getType()), value); }
  mlir::Value add(mlir::Value x, mlir::Value y) const { return builder.create<AddOp>(where, x, y); }
  mlir::Value add(mlir::Value x, int64_t y) const { return add(x, like(x, y)); }
  mlir::Value subtract(mlir::Value x, mlir::Value y) const { return builder.create<SubtractOp>(where, x, y); }
  mlir::Value times(mlir::Value x, mlir::Value y) const { return builder.create<MultiplyOp>(where, x, y); }
  mlir::Value times(mlir::Value x, int64_t y) const { return y == 1 ? x : times(x, like(x, y)); }
  mlir::Value over(mlir::Value x, mlir::Value y) const { return builder.create<DivideOp>(where, x, y); }
  mlir::Value over(mlir::Value x, int64_t y) const { return y == 1 ? x : over(x, like(x, y)); }
  mlir::Value rest(mlir::Value x, mlir::Value y) const { return builder.create<RemainderOp>(where, x, y); }
  mlir::Value rest(mlir::Value x, int64_t y) const { return rest(x, like(x, y)); }
  mlir::Value clamp(mlir::Value x, int64_t low, int64_t high) const {
    return builder.create<ClampOp>(where, x.getType(), like(x, low), x, like(x, high));
  }
  mlir::Value compare(mlir::Value x, ComparisonDirection direction, mlir::Value y) const {
    ArrayType type = llvm::cast<ArrayType>(x.getType()).withElementType(builder.getI1Type());
    return builder.create<CompareOp>(where, type, x, y, direction);
  }
  mlir::Value select(mlir::Value condition, mlir::Value onTrue, mlir::Value onFalse) const {
    return builder.create<SelectOp>(where, onTrue.getType(), condition, onTrue, onFalse);
  }
  mlir::Value both(mlir::Value x, mlir::Value y) const { return builder.create<AndOp>(where, x, y); }

private:
  mlir::OpBuilder &builder;
  mlir::Location where;
};

} // namespace spmdc
