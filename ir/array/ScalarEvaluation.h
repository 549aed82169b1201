//===- ScalarEvaluation.h - reference evaluation of elements ----*- C++ -*-===//
//
// The value of one element of an element-wise operation, for operations that need more than a one-line expression.
// `type` is the operands' element type; the caller rounds results.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/interfaces/Scalar.h"

namespace spmdc {

double evaluateErfInv(double x);
Scalar evaluateAbs(mlir::Type type, Scalar x);
Scalar evaluateNegate(mlir::Type type, Scalar x);
Scalar evaluateSign(mlir::Type type, Scalar x);
Scalar evaluatePopcount(mlir::Type type, Scalar x);
Scalar evaluateBitcast(mlir::Type from, mlir::Type to, Scalar x);
Scalar evaluateAdd(mlir::Type type, Scalar x, Scalar y);
Scalar evaluateSubtract(mlir::Type type, Scalar x, Scalar y);
Scalar evaluateMultiply(mlir::Type type, Scalar x, Scalar y);
Scalar evaluateDivide(mlir::Type type, Scalar x, Scalar y);
Scalar evaluateRemainder(mlir::Type type, Scalar x, Scalar y);
Scalar evaluatePower(mlir::Type type, Scalar x, Scalar y);
Scalar evaluateMaximum(mlir::Type type, Scalar x, Scalar y);
Scalar evaluateMinimum(mlir::Type type, Scalar x, Scalar y);
Scalar evaluateShiftLeft(mlir::Type type, Scalar x, Scalar y);
Scalar evaluateShiftRightArithmetic(mlir::Type type, Scalar x, Scalar y);
Scalar evaluateShiftRightLogical(mlir::Type type, Scalar x, Scalar y);
Scalar evaluateCompare(mlir::Type type, ComparisonDirection direction, Scalar x, Scalar y);

/// One word of Threefry-2x32 of (k0, k1, c0, c1).
Scalar evaluateThreefry(llvm::ArrayRef<Scalar> operands, int64_t word);
/// The positions of elements in order, as array.argsort defines it.
std::vector<int64_t> evaluateOrder(mlir::Type elementType, llvm::ArrayRef<Scalar> line, bool isDescending);

/// One step of a reduction, and its neutral value.
Scalar evaluateReduction(mlir::Type type, ReductionKind kind, Scalar x, Scalar y);
Scalar getReductionIdentity(mlir::Type type, ReductionKind kind);

/// The number as an attribute of that type, to which it is rounded.
mlir::TypedAttr scalarAttr(mlir::Type elementType, Scalar value);

} // namespace spmdc
