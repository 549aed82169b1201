//===- AssemblyText.h - assembly of several modules in one file -*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace spmdc {

/// The same code with `prefix` in the place of `.L`, by which the names of labels begin that are a file's own: LLVM
/// counts them anew in each module, and one file has each name once. Strings and comments stay as they are.
std::string renameLocalLabels(llvm::StringRef assembly, llvm::StringRef prefix);

} // namespace spmdc
