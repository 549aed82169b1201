//===- ComplexName.h - names of complex numbers -----------------*- C++ -*-===//
#pragma once

#include "runtime/support/DType.h"

#include <string>

namespace spmd {

/// The name of complex numbers with parts of this type, as JAX and messages shorten it: `c64` of f32.
inline std::string complexName(DType part) { return "c" + std::to_string(16 * byteSize(part)); }

} // namespace spmd
