//===- RunningProductsHelper.h - registers of running products --*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace spmdc {

/// Returns the first instruction of PTX text, read from the first line to the last, that uses the results of a wgmma
/// before the wait for them, or that writes its left factor, or a wgmma whose registers were written behind the last
/// wgmma.fence; empty if there is none. Such values are undefined on a GPU, and the emulator does not see registers.
std::string findTouchedRegisters(llvm::StringRef ptx);

} // namespace spmdc
