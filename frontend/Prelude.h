//===- Prelude.h - the text of prelude.spmd ---------------------*- C++ -*-===//
#pragma once

#include <string_view>

namespace spmdc {

/// The standard prelude, which is part of the binary.
std::string_view preludeText();

} // namespace spmdc
