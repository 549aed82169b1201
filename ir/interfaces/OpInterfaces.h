//===- OpInterfaces.h - interfaces of all operations ------------*- C++ -*-===//
#pragma once

#include "ir/interfaces/Scalar.h"
#include "ir/interfaces/ShardingRule.h"
#include "ir/interfaces/Tensor.h"
#include "ir/spmd/SpmdTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace spmdc {

/// A copy of the operation on local operands, with its result's type replaced.
mlir::Value cloneWithLocalTypes(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands,
                                ArrayType localResult);

/// One operand that a result consists of, and how its elements move along each dimension.
struct ArrayMove {
  mlir::Value source;
  std::vector<spmd::DimMove> dims;
  bool slicesReplicatedLocally =
      false; ///< If the source is replicated along a dimension, each device slices it locally there,
             ///< and needs no exchange (the update of a dynamic_update_slice).
};

/// The moves of an operation that only moves elements. The result is its parts, a later one over an earlier one.
/// Elements that no part covers are `outside`, a scalar; it is null if the parts cover the result.
struct ArrayMoves {
  llvm::SmallVector<ArrayMove> parts; ///< Empty: the operation is not of that kind.
  mlir::Value outside;
};

/// Traits of operations; OpInterfaces.td says what each promises.
template <typename ConcreteType> class MathFunction : public mlir::OpTrait::TraitBase<ConcreteType, MathFunction> {};
template <typename ConcreteType> class Division : public mlir::OpTrait::TraitBase<ConcreteType, Division> {};
template <typename ConcreteType> class ExactInHalf : public mlir::OpTrait::TraitBase<ConcreteType, ExactInHalf> {};

/// The derivative of the operation is zero everywhere.
template <typename ConcreteType>
class ZeroDerivative : public mlir::OpTrait::TraitBase<ConcreteType, ZeroDerivative> {};

} // namespace spmdc

#include "ir/interfaces/OpInterfaces.h.inc"

namespace spmdc {

/// Whether the operation reads only some elements of its first operand, at most as many as its result has: slice,
/// dynamic_slice, take, take_along.
inline bool readsPartOfFirstOperand(mlir::Operation *op) {
  auto ruled = llvm::dyn_cast<ShardingRuleOpInterface>(op);
  return ruled && ruled.readsPartOfFirstOperand();
}

/// The number of the operand that the operation writes to, or adds to, some elements of its first operand; none for any
/// other operation.
inline std::optional<unsigned> getUpdateOperandNumber(mlir::Operation *op) {
  auto ruled = llvm::dyn_cast<ShardingRuleOpInterface>(op);
  return ruled ? ruled.getUpdateOperandNumber() : std::nullopt;
}

} // namespace spmdc
