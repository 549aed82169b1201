//===- Version.h - the text of `spmdc --version` ----------------*- C++ -*-===//
#pragma once

#include <string>

namespace spmdc {

/// The versions of spmdc and LLVM, the backends, and TLS.
std::string versionText();

} // namespace spmdc
