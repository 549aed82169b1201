//===- Balance.h - matrices before an iteration -----------------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/linear/Matrix.h"

namespace spmdc::stablehlo {

/// A matrix with rows and columns in another order (LAPACK's gebal, 'P'), so that it is upper triangular outside of the
/// rows and columns [first, last], i32[batch..., 1, 1]: the eigenvalues there are the elements of its diagonal,
/// exactly. Row i is row `order[i]` of the original, i32[batch..., n, 1].
struct Isolated {
  Matrix matrix, order, first, last;
};
Isolated isolate(const Matrix &a);

/// D^-1 A D with powers of two that bring the norms of rows and columns of the block nearer to each other (gebal, 'S'),
/// and D, [batch..., n, 1].
struct Scaled {
  Matrix matrix, scale;
};
Scaled scaleBlock(const Isolated &a);

/// The rows of vectors of the matrix in the order of the original's.
Matrix inOriginalOrder(const Matrix &vectors, const Matrix &order);

} // namespace spmdc::stablehlo
