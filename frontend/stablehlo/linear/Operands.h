//===- Operands.h - operands of operations of linear algebra ----*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/linear/Factorizations.h"

namespace spmdc::stablehlo {

/// The operands as matrices of at least f32, replicated in their last two dimensions. Fails with a message if they are
/// not matrices of floats of one batch.
mlir::FailureOr<Matrices> matricesOf(mlir::Operation *op, const Matrices &operands);

/// A vector for each matrix as a matrix of one column, and back.
Matrix columnOf(const Matrix &vectors);
Matrix vectorsOf(const Matrix &columns);
/// A number for each matrix of [batch..., 1, 1].
Matrix numbersOf(const Matrix &matrices);

inline bool isSquare(const Matrix &matrix) { return matrix.rows() == matrix.columns(); }

/// X of op(a) X = b, or of X op(a) = b, for the operands [a, b].
mlir::FailureOr<Matrix> solveTriangularSystem(mlir::Operation *op, const Matrices &operands, Triangle triangle,
                                              bool isLeft);

/// The Cholesky factor; both triangles of `a` where it is not factored, as potrf leaves them.
Factor choleskyOf(const Matrix &a, bool isLower);

} // namespace spmdc::stablehlo
