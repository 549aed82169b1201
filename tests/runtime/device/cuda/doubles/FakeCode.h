//===- FakeCode.h - PTX that runs in the emulator ---------------*- C++ -*-===//
#pragma once

#include "tests/passes/gpu/emulator/GpuEmulatorHelper.h"

#include <memory>
#include <string>

namespace spmd::cuda {

/// Returns the emulator of a module's PTX, or null and an error. The last ones are kept, since compiling a module for
/// this machine takes longer than most kernels run. Not thread-safe: FakeDriver locks.
std::shared_ptr<spmdc::GpuEmulator> loadFakeCode(const std::string &ptx, std::string &error);

} // namespace spmd::cuda
