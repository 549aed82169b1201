//===- GpuEmulatorHelper.h - runs kernels for a GPU on the CPU --*- C++ -*-===//
//
// Executes the LLVM IR that PTX is made of, blocks and threads included (GpuThreadsHelper.h); blocks run one after the
// other. What the NVPTX backend has instructions for (llvm.nvvm.*, and libdevice's inline assembly) is answered by
// functions of this machine. So index arithmetic, guards, reductions and barriers of generated code are checked without
// a GPU; instruction selection and timing are not.
//
// Strict where hardware may or may not forgive: a shuffle that not all lanes of the warp reach, a barrier that not all
// threads reach, and a deadlock are errors; threads run in the order that is asked for, so that a missing barrier, or
// one thread that writes what another reads, shows as a different result; shared memory is filled with a pattern before
// every block, and so is what lies behind the part that the launch asks for: a write there is an error.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/GpuThreadsHelper.h"

namespace spmdc {

class GpuEmulator {
public:
  /// Takes LLVM IR text for nvptx64. `error` is set where it cannot be run.
  GpuEmulator(const std::string &llvmText, std::string &error);
  ~GpuEmulator();

  /// Runs a kernel to its end; returns what is wrong with it, or nothing.
  /// `sharedBytes`: the shared memory that the launch asks for.
  std::string launch(const std::string &symbol, int64_t gridBlocks, int32_t blockThreads,
                     const std::vector<void *> &arguments, ThreadOrder order, int64_t sharedBytes = 0);

  /// How many arguments a kernel takes; -1 where there is none of this name.
  int64_t countArguments(const std::string &symbol) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace spmdc
