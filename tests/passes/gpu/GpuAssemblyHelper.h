//===- GpuAssemblyHelper.h - inline PTX as LLVM IR --------------*- C++ -*-===//
//
// libdevice writes some instructions as inline assembly. Here they become LLVM IR: integers with their carry, moves
// between halves and wholes, predicates; floats call the function of GpuIntrinsicsHelper.h that bears the instruction's
// name.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/IR/Instructions.h"

#include <string>

namespace spmdc {

/// Functions of this machine that stand for instructions, as the emulated module declares them.
inline constexpr const char *kEmulatedPrefix = "emulated.";

/// Replaces a call of inline assembly (any other call stays). Returns the instruction that is not known, or nothing.
std::string replaceAssembly(llvm::CallInst &call);

} // namespace spmdc
