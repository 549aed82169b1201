//===- CompilerIdentity.h - which compiler this is --------------*- C++ -*-===//
#pragma once

#include <optional>
#include <string>

namespace spmdc {

/// Differs between compilers that might make different programs of the same text: versions, the build of the code that
/// runs, and of the C library's mathematics, which folds constants. Nothing where the system does not tell.
const std::optional<std::string> &compilerIdentity();

} // namespace spmdc
