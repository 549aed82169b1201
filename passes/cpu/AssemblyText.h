//===- AssemblyText.h - assembly of several modules in one file -*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace spmdc {

/// Returns the same code with `prefix` instead of `.L`, the prefix of labels that are local to a file. LLVM numbers
/// them from 0 in each module, but a name must be unique in a file. Strings and comments do not change.
std::string renameLocalLabels(llvm::StringRef assembly, llvm::StringRef prefix);

} // namespace spmdc
