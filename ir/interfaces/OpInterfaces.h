//===- OpInterfaces.h - what every operation says of itself -----*- C++ -*-===//
#pragma once

#include "ir/interfaces/Scalar.h"
#include "ir/interfaces/ShardingRule.h"
#include "ir/interfaces/Tensor.h"
#include "ir/spmd/SpmdTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace spmdc {

/// A copy of the operation on local operands, with its result's type replaced.
mlir::Value cloneWithLocalTypes(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands,
                                ArrayType localResult);

/// An array that a result is made of, and how along each dimension.
struct ArrayMove {
  mlir::Value source;
  std::vector<spmd::DimMove> dims;
  bool mayBeWhole = false; ///< Devices that have a dimension of it whole take what they need by themselves.
};

/// What an operation does that only moves elements: its result is made of parts, later ones over those before, and of a
/// scalar (null: there is no such place) where no part is.
struct ArrayMoves {
  llvm::SmallVector<ArrayMove> parts; ///< Empty: the operation is none of that kind.
  mlir::Value outside;
};

/// Nothing flows back through the operation.
template <typename ConcreteType>
class ZeroDerivative : public mlir::OpTrait::TraitBase<ConcreteType, ZeroDerivative> {};

} // namespace spmdc

#include "ir/interfaces/OpInterfaces.h.inc"
