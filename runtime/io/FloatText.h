//===- FloatText.h - shortest decimal digits of a float ---------*- C++ -*-===//
//
// The shortest decimal that reads back as the same value of its dtype, rounded to a number of digits after the point,
// in the two forms in which NumPy prints arrays. Values are passed as double, which holds every value of every float
// dtype exactly.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/DType.h"

#include <string>

namespace spmd {

/// `-0.125`, `3.`: always with a point, without trailing zeros; at most `precision` digits after it.
std::string positionalText(double value, DType dtype, int precision);

/// `1.e+20`, `-1.25e-05`: one digit before the point, exponent of at least two digits.
std::string scientificText(double value, DType dtype, int precision);

/// The exact value rounded to this many digits after the point: `5.96e-08`. NumPy pads the columns of an array with
/// digits of the value, not with zeros after the shortest digits.
std::string exactScientificText(double value, int fractionDigits);

/// A single value as Python prints a NumPy scalar: `3.5`, `1e+20`, `-0.12398732`, `nan`.
std::string scalarText(double value, DType dtype);

} // namespace spmd
