//===- MatrixUnit.h - permission to use the CPU's matrix unit ---*- C++ -*-===//
#pragma once

namespace spmd {

/// Whether this CPU has a matrix unit for bf16 and bytes (Intel's AMX), and the kernel lets this process use it. Asks
/// for that at the first call, for all threads (Linux: Documentation/arch/x86/xstate.rst). Thread-safe.
bool canUseMatrixUnit();

} // namespace spmd
