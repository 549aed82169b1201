//===- OpInterfaces.h - interfaces of all operations ------------*- C++ -*-===//
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

/// One operand that a result consists of, and how its elements move along each dimension.
struct ArrayMove {
  mlir::Value source;
  std::vector<spmd::DimMove> dims;
  bool mayBeWhole = false; ///< Devices on which a dimension is replicated slice it locally.
};

/// The moves of an operation that only moves elements: its result consists of parts, where later parts overwrite
/// earlier ones, and of a scalar where no part is (null: the parts cover the result).
struct ArrayMoves {
  llvm::SmallVector<ArrayMove> parts; ///< Empty: the operation is not of that kind.
  mlir::Value outside;
};

/// The operation has no cotangent.
template <typename ConcreteType>
class ZeroDerivative : public mlir::OpTrait::TraitBase<ConcreteType, ZeroDerivative> {};

} // namespace spmdc

#include "ir/interfaces/OpInterfaces.h.inc"
