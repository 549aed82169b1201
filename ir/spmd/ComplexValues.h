//===- ComplexValues.h - complex arguments and results ----------*- C++ -*-===//
//
// IR has no complex numbers: an array of them is an array of its parts. The attribute tells the reports, and the files
// that a run reads and writes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace spmdc {

/// Argument and result attribute: the array holds complex numbers, whose real and imaginary parts are its last
/// dimension.
inline constexpr llvm::StringLiteral kComplexAttrName = "spmd.complex";

} // namespace spmdc
