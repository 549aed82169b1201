//===- ArrayOps.h - the operations of the array dialect ---------*- C++ -*-===//
#pragma once

#include "ir/interfaces/OpInterfaces.h"
#include "ir/spmd/SpmdOps.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/array/ArrayEnums.h.inc"
#include "ir/array/ArrayOpsDialect.h.inc"

namespace spmdc {

/// Verifies that the operands and the result are arrays of one shape.
mlir::LogicalResult verifySameArrayShape(mlir::Operation *op);
/// The same, and of one element type. Shardings may differ: partitioning inserts reshards.
mlir::LogicalResult verifySameArray(mlir::Operation *op);

/// True if the value is a constant whose elements are all +0, as an exchange fills elements without a source.
bool isPlainZero(mlir::Value value);

template <typename ConcreteType> class SameArrayShape : public mlir::OpTrait::TraitBase<ConcreteType, SameArrayShape> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifySameArrayShape(op); }
};

template <typename ConcreteType> class SameArray : public mlir::OpTrait::TraitBase<ConcreteType, SameArray> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifySameArray(op); }
};

} // namespace spmdc

#define GET_OP_CLASSES
#include "ir/array/ArrayOps.h.inc"
