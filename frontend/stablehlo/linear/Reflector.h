//===- Reflector.h - one Householder reflection -----------------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/linear/Matrix.h"

namespace spmdc::stablehlo {

/// H = I - tau v v^H, with H^H x = [x0, beta, 0] for a column x = [x0, alpha, x1] (LAPACK's larfg): v = [0, 1, v1].
/// beta is real, for complex columns too.
struct Reflector {
  Matrix vector, tau, beta;
};

/// Of the elements of a column, [batch..., rows, 1], from the row at a position on, a scalar of i32.
Reflector reflectorOf(const Matrix &column, const Matrix &at);

/// The Euclidean norm of one column, which does not overflow where its square does.
Matrix normOf(const Matrix &column);

/// H^H x, and x H.
Matrix reflectRows(const Reflector &by, const Matrix &x);
Matrix reflectColumns(const Matrix &x, const Reflector &by);

} // namespace spmdc::stablehlo
