//===- GpuBf16Helper.h - bf16 in the emulator's LLVM IR ---------*- C++ -*-===//
#pragma once

#include <string>

namespace spmdc {

/// Returns the LLVM IR with bf16 replaced by integers of its bits: operations compute with f32 and round by a function
/// of GpuIntrinsicsHelper.h. On this machine LLVM keeps bf16 in f32, and may round it by an instruction that flushes
/// subnormal numbers. Sets `error` if the text cannot be read, or has an operation on bf16 that is not known here.
std::string replaceBf16(const std::string &text, std::string &error);

} // namespace spmdc
