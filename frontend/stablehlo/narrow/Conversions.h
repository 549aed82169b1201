//===- Conversions.h - conversions to and from narrow numbers ---*- C++ -*-===//
//
// The formulas of runtime/support/ElementFormat.h over arrays. They are exact: XLA's numbers bit by bit, but for the
// payload of NaN.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/narrow/Lanes.h"

namespace spmdc::stablehlo {

/// The numbers of an array of bytes, in a type that is not narrow. Floats are exact in f32. The high bits of an
/// integer's byte have no effect: NumPy saves an int4 of -2 as 0x0e.
Lanes decode(Lanes bytes, const spmd::NarrowFormat &format, mlir::Type element);

/// The bytes of numbers in a type that is not narrow. Floats are the nearest ones, ties to even. Integers take the low
/// bits of integers; of floats they are the truncated values, the least or the largest integer where these are beyond,
/// and 0 for NaN.
Lanes encode(Lanes numbers, const spmd::NarrowFormat &format);

/// The bits of an array in another type, whose bytes these are if it is narrow; `to` is the type of the result without
/// this replacement. At least one of both types has elements of less than 8 bits. If the widths differ, the array of
/// the narrower one has an additional last dimension, the part of the lowest bits first.
Lanes bitcastParts(Lanes x, mlir::Type from, mlir::Type to);

} // namespace spmdc::stablehlo
