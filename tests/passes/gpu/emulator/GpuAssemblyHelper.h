//===- GpuAssemblyHelper.h - inline PTX as LLVM IR --------------*- C++ -*-===//
//
// libdevice has some instructions as inline assembly. This helper turns them into LLVM IR: integers with their carry,
// moves between registers and their halves, predicates; floats call the function of GpuIntrinsicsHelper.h with the
// instruction's name.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/IR/Instructions.h"

#include <string>

namespace spmdc {

/// The prefix of functions that implement instructions, in the emulated module.
inline constexpr const char *kEmulatedPrefix = "emulated.";

/// Replaces a call of inline assembly (any other call stays). Returns the unknown instruction, or an empty string.
std::string replaceAssembly(llvm::CallInst &call);

} // namespace spmdc
