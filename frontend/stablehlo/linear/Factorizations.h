//===- Factorizations.h - factorizations of matrices ------------*- C++ -*-===//
//
// With LAPACK's conventions. All take batches of matrices of f32 or f64, real or complex, and compute in blocks, most
// of the work in products. An adjoint matrix A^H is the transposed one if A is real.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/linear/Matrix.h"

namespace spmdc::stablehlo {

/// A factorization, with the number of the first column where it failed, counted from 1; 0 if it did not:
/// i32[batch..., 1, 1].
struct Factor {
  Matrix matrix, info;
};

/// L with zeros above the diagonal, where `a` = L L^H. The upper triangle of `a` is not read. It fails at the first
/// leading minor that is not positive; L has NaN from there on.
Factor cholesky(const Matrix &a);

/// A triangle, as LAPACK's trsm takes it.
struct Triangle {
  bool isLower, isTransposed, hasUnitDiagonal, isConjugated = false;
};

/// X of op(a) X = b; of X op(a) = b if not `isLeft`. Elements outside the triangle are not read.
Matrix solveTriangular(const Matrix &a, const Matrix &b, Triangle triangle, bool isLeft = true);

/// The inverse of lower triangular matrices; elements above the diagonal are not read, and zero in the result.
Matrix invertLower(const Matrix &a, bool hasUnitDiagonal = false);

/// L (unit diagonal) and U in one matrix, with the exchanges of rows: row i was exchanged with row `pivots[i]`, counted
/// from 0, i32[batch..., min(rows, columns), 1]. It fails at the first pivot that is 0, and goes on.
struct PivotedFactor {
  Matrix matrix, pivots, info;
};
PivotedFactor lu(const Matrix &a);

/// The order of `rows` rows after the exchanges of `PivotedFactor::pivots`, i32[batch..., rows, 1].
Matrix exchangedRows(const Matrix &pivots, int64_t rows);

/// R on and above the diagonal, below it the Householder vectors v, whose first element is 1 (geqrf), and the factors
/// of H = I - tau v v^H, [batch..., min(rows, columns), 1].
struct Reflectors {
  Matrix matrix, taus;
};
Reflectors qr(const Matrix &a);

/// The first columns of H1 H2 ... of the vectors of `qr`, as many as `vectors` has columns (orgqr, ungqr).
Matrix multiplyReflectors(const Matrix &vectors, const Matrix &taus);

/// Eigenvalues in ascending order, [batch..., n, 1], and eigenvectors as columns, of unit length and any phase, of
/// Hermitian matrices; the upper triangle is not read.
struct Eigen {
  Matrix values, vectors;
};
Eigen eigen(const Matrix &a);

/// U, the singular values in descending order, [batch..., min(rows, columns), 1], and V^H. `isFull`: U and V are
/// square. Singular vectors have any phase.
struct Singular {
  Matrix left, values, right;
};
Singular singular(const Matrix &a, bool isFull);

} // namespace spmdc::stablehlo
