//===- Formula.h - formulas over arrays of the export -----------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/dialect/Dialects.h"

#include "mlir/IR/Builders.h"

namespace spmdc::stablehlo {

/// A tensor of this shape with other elements.
inline mlir::RankedTensorType withElement(mlir::Type tensor, mlir::Type element) {
  return mlir::RankedTensorType::get(llvm::cast<mlir::RankedTensorType>(tensor).getShape(), element);
}

/// An array of the exported program as an operand of formulas: each function emits one operation of StableHLO behind
/// the last one. `Self` derives from it and adds the operators of its numbers.
template <typename Self> class Formula {
public:
  Formula(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value) : b(&b), loc(loc), value(value) {}

  mlir::Value get() const { return value; }
  mlir::RankedTensorType type() const { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }

  /// An array of this type, one of floats, that repeats one number.
  Self like(double number) const {
    auto attribute = mlir::DenseElementsAttr::get(type(), mlir::FloatAttr::get(type().getElementType(), number));
    return {*b, loc, b->create<ConstantOp>(loc, type(), attribute)};
  }

  template <typename Op> Self unary() const { return {*b, loc, b->create<Op>(loc, type(), value)}; }
  template <typename Op> Self binary(Self other) const {
    return {*b, loc, b->create<Op>(loc, type(), value, other.get())};
  }
  /// An array of bools.
  Self compare(llvm::StringRef direction, Self other) const {
    auto attribute = ComparisonDirectionAttr::get(b->getContext(), direction);
    mlir::Type bools = withElement(type(), b->getI1Type());
    return {*b, loc, b->create<CompareOp>(loc, bools, value, other.get(), attribute, ComparisonTypeAttr())};
  }
  /// This array of bools chooses between two arrays.
  Self select(Self onTrue, Self onFalse) const {
    return {*b, loc, b->create<SelectOp>(loc, onTrue.type(), value, onTrue.get(), onFalse.get())};
  }

protected:
  mlir::OpBuilder *b;
  mlir::Location loc;
  mlir::Value value;
};

} // namespace spmdc::stablehlo
