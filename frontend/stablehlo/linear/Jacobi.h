//===- Jacobi.h - sweeps of Jacobi's rotations ------------------*- C++ -*-===//
//
// Half of the rows are paired with the other half, and all pairs rotate at once; then the rows move one place on, but
// for the first, as the players of a tournament do. After one step less than there are rows all pairs have met, and
// every row is where it was (Brent, Luk 1985; XLA's EighExpander).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/linear/Matrix.h"

namespace spmdc::stablehlo {

/// More sweeps than converging ones need: their number grows as log log, and 6 to 10 are usual.
constexpr int64_t kMaxSweeps = 30;

/// Rotations of pairs, one for each row: cosine, sine and tangent, [batch..., pairs, 1]. The second row of a pair is
/// multiplied by the phase first, of complex numbers, whose off-diagonal elements become real then.
struct Rotation {
  Matrix cosine, sine, tangent;
  std::optional<Matrix> phase;
};

/// The rotations that make [[a, |b|], [|b|, d]] diagonal, by the smaller angle: a - t |b| and d + t |b| are left; b
/// itself in the place of |b| where it is real. `phase` is that of b.
Rotation rotationOf(const Matrix &a, const Matrix &b, const Matrix &d);
/// b, or |b| of complex numbers.
Matrix realOf(const Matrix &b);

/// Upper and lower halves of rows, or left and right halves of columns.
struct Halves {
  Matrix first, second;
};

/// The rows of both halves, rotated.
Halves rotateRows(const Halves &x, const Rotation &by);
/// The rows one place on.
Halves moveRows(const Halves &x);
Halves transposed(const Halves &x);

/// The distance between 1 and the next number of a type of floats.
double epsilonOf(mlir::Type type);

} // namespace spmdc::stablehlo
