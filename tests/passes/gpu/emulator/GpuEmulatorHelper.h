//===- GpuEmulatorHelper.h - runs kernels for a GPU on the CPU --*- C++ -*-===//
//
// Executes the LLVM IR from which PTX is generated, including blocks and threads (GpuThreadsHelper.h); blocks run one
// after the other. Functions of this machine implement the instructions of the NVPTX backend (llvm.nvvm.*, and
// libdevice's inline assembly). So index arithmetic, guards, reductions and barriers of generated code are checked
// without a GPU; instruction selection and timing are not.
//
// Strict where hardware may be lenient: a shuffle that not all lanes of the warp reach, a barrier that not all threads
// reach, and a deadlock are errors; threads run in the requested order, so that a missing barrier, or one thread that
// writes what another reads, shows as a different result; shared memory is filled with a pattern before every block,
// and so is the memory after the part that the launch requests: a write there is an error.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/emulator/GpuThreadsHelper.h"

namespace spmdc {

class GpuEmulator {
public:
  /// Takes LLVM IR text for nvptx64. `error` is set if it cannot be run.
  GpuEmulator(const std::string &llvmText, std::string &error);
  ~GpuEmulator();

  /// Runs a kernel to its end; returns an error, or an empty string.
  /// `sharedBytes`: the shared memory that the launch requests.
  std::string launch(const std::string &symbol, int64_t gridBlocks, int32_t blockThreads,
                     const std::vector<void *> &arguments, ThreadOrder order, int64_t sharedBytes = 0);

  /// The number of arguments of a kernel; -1 if there is no kernel of this name.
  int64_t countArguments(const std::string &symbol) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace spmdc
