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

/// Nothing flows back through the operation.
template <typename ConcreteType>
class ZeroDerivative : public mlir::OpTrait::TraitBase<ConcreteType, ZeroDerivative> {};

} // namespace spmdc

#include "ir/interfaces/OpInterfaces.h.inc"
