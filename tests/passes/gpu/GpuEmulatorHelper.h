//===- GpuEmulatorHelper.h - runs kernels for a GPU on the CPU --*- C++ -*-===//
//
// Executes the LLVM IR that PTX is made of, blocks and threads included: every thread of a block is a fiber, barriers
// and warp shuffles suspend it, blocks run one after the other. What the NVPTX backend has instructions for
// (llvm.nvvm.*) is answered by functions of this machine. So index arithmetic, guards, reductions and barriers of
// generated code are checked without a GPU; instruction selection and timing are not.
//
// Strict where hardware may or may not forgive: a shuffle that not all lanes of the warp reach, a barrier that not all
// threads reach, and a deadlock are errors; warps run in the order that is asked for, each as far as it can, so that a
// missing barrier shows as a different result; shared memory is filled with a pattern before every block.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace spmdc {

class GpuEmulator {
public:
  /// Takes LLVM IR text for nvptx64. `error` is set where it cannot be run.
  GpuEmulator(const std::string &llvmText, std::string &error);
  ~GpuEmulator();

  enum class WarpOrder { Forward, Backward };
  /// Runs a kernel to its end; returns what is wrong with it, or nothing. Blocks run in the same order as warps.
  std::string launch(const std::string &symbol, int64_t gridBlocks, int32_t blockThreads,
                     const std::vector<void *> &arguments, WarpOrder order);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace spmdc
