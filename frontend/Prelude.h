//===- Prelude.h - the text of prelude.spmd ---------------------*- C++ -*-===//
#pragma once

#include <string_view>

namespace spmdc {

/// The text of the standard prelude: the functions of the language that are composed of others. It is part of the
/// binary.
std::string_view preludeText();

} // namespace spmdc
