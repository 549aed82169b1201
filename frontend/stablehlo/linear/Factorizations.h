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

/// X of a X = b, for a block of few rows: elements above its diagonal are not read.
Matrix substitute(const Matrix &a, const Matrix &b, bool hasUnitDiagonal = false);

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

/// Q x, or Q^H x, for the product Q of all reflections and a matrix of as many rows (ormqr, unmqr).
Matrix applyReflectors(const Matrix &vectors, const Matrix &taus, const Matrix &x, bool isAdjoint);

/// The same factorization of a matrix whose columns are in another order, so that the diagonal of R decreases (geqp3):
/// the numbers of the columns, counted from 0, i32[batch..., columns, 1].
struct PivotedReflectors {
  Reflectors reflectors;
  Matrix order;
};
PivotedReflectors pivotedQr(const Matrix &a);

/// X of T X = b for tridiagonal matrices T with the diagonals `lower`, `main` and `upper`, [batch..., n, 1] each, by
/// elimination with partial pivoting (gtsv). The first element of `lower` and the last one of `upper` are not read. It
/// fails at the first pivot that is 0; X is infinite or NaN then. The factor has the diagonals of U, of as many columns
/// as it has: main, upper, and the one above.
struct TridiagonalSolution {
  Matrix solution, factor, info;
};
TridiagonalSolution solveTridiagonal(const Matrix &lower, const Matrix &main, const Matrix &upper, const Matrix &b);

/// A = Q H Q^H with H zero below the first diagonal under the main one: H, and below it the Householder vectors of Q,
/// of which the first element is 1, and their factors, [batch..., n - 1, 1] (gehrd).
Reflectors hessenberg(const Matrix &a);

/// A = Z T Z^H, with T upper triangular but, of a real matrix, for blocks of 2 x 2 on the diagonal, which do not
/// overlap (gees). Z is left out without `hasVectors`. Where the QR iteration does not converge, info is the number of
/// the last row of the block that is left, counted from 1, and -4 for matrices with infinities or NaN.
struct Schur {
  Matrix triangle;
  std::optional<Matrix> vectors;
  Matrix info;
};
Schur schur(const Matrix &a, bool hasVectors);
/// The eigenvalues of T in the order of its diagonal, complex[batch..., n, 1]. Those of a real T are exact conjugates,
/// the one with a positive imaginary part first.
Matrix eigenvaluesOf(const Matrix &triangle);
/// With LAPACK's blocks alone: those of conjugate pairs, with equal diagonals.
Schur standardized(const Schur &schur);
/// The complex form, T without any blocks.
Schur triangular(const Schur &schur);

/// Eigenvalues of any matrices, complex[batch..., n, 1], and left (u^H A = w u^H) and right eigenvectors as columns
/// where asked for, of unit length and with a real largest element (geev). `info`: as for `schur`.
struct GeneralEigen {
  Matrix values;
  std::optional<Matrix> left, right;
  Matrix info;
};
GeneralEigen generalEigen(const Matrix &a, bool hasLeft, bool hasRight);

/// Eigenvalues in ascending order, [batch..., n, 1], and eigenvectors as columns where asked for, of unit length and
/// any phase, of Hermitian matrices; the upper triangle is not read. All are NaN for a matrix with infinities or NaN.
struct Eigen {
  Matrix values;
  std::optional<Matrix> vectors;
};
Eigen eigen(const Matrix &a, bool hasVectors);

/// Which singular vectors are wanted: as many as there are singular values, or square matrices of them.
enum class SingularVectors { none, some, square };

/// U, the singular values in descending order, [batch..., min(rows, columns), 1], and V^H. Singular vectors have any
/// phase. All are NaN for a matrix with infinities or NaN.
struct Singular {
  std::optional<Matrix> left;
  Matrix values;
  std::optional<Matrix> right;
};
Singular singular(const Matrix &a, SingularVectors wanted);

} // namespace spmdc::stablehlo
