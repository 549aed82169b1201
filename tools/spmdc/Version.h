//===- Version.h - what `spmdc --version` says ------------------*- C++ -*-===//
#pragma once

#include <string>

namespace spmdc {

/// spmdc's version, LLVM's, and which backends this machine offers: cpu always, cuda, nccl and gloo where their
/// libraries can be opened.
std::string versionText();

} // namespace spmdc
