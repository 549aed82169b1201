//===- Scalar.h - one element, for folding and reference evaluation ---*- C++ -*-===//
#pragma once

#include "mlir/IR/Types.h"

#include <cstdint>

namespace spmdc {

/// An element of an array. Floats live in `f` (every float type is exact in a double), integers and bools in `i`
/// (unsigned ones zero-extended; u64 as its bits).
struct Scalar {
  double f = 0;
  int64_t i = 0;

  static Scalar ofFloat(double value) { return {value, 0}; }
  static Scalar ofInt(int64_t value) { return {0, value}; }
  static Scalar ofBool(bool value) { return {0, value ? 1 : 0}; }
};

/// Returns the nearest value of the element type: floats round to nearest even, integers wrap.
Scalar roundTo(Scalar value, mlir::Type elementType);

/// Whether an integer or bool comes before another one in the order of their type.
bool isLessInteger(Scalar a, Scalar b, mlir::Type elementType);

/// Value conversion as `convert` does: float to integer truncates and saturates, NaN becomes 0; anything to bool is
/// `!= 0`.
Scalar convertScalar(Scalar value, mlir::Type from, mlir::Type to);

} // namespace spmdc
