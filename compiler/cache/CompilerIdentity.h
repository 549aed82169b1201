//===- CompilerIdentity.h - identifies the build of the compiler -*- C++ -*-===//
#pragma once

#include <optional>
#include <string>

namespace spmdc {

/// A text that differs between compilers that may compile the same program differently: versions, the build of this
/// code, and the build of the C library's mathematics, which folds constants. Returns nullopt if a build cannot be
/// identified.
const std::optional<std::string> &compilerIdentity();

} // namespace spmdc
