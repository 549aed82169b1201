//===- NumpyPrinter.h - NumPy's print format --------------------*- C++ -*-===//
//
// `print(array)` of NumPy 2 with its default options: aligned columns, lines of 75 characters, floats with at most 8
// digits after the point and an exponent if the range requires one, and `...` in arrays of more than 1,000 elements.
// bf16, which NumPy does not have, is treated like f16; a key is printed as its two words; narrow floats are printed as
// f32, narrow integers as i8.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/ElementFormat.h"

#include <cstdint>
#include <string>
#include <vector>

namespace spmd {

/// `data` is row-major.
std::string numpyText(DType dtype, const std::vector<int64_t> &shape, const void *data,
                      ElementFormat format = ElementFormat::Plain);

} // namespace spmd
