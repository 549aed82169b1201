//===- GpuEmulatorHelper.h - runs kernels for a GPU on the CPU --*- C++ -*-===//
//
// Executes PTX text, including blocks and threads (GpuThreadsHelper.h); blocks run one after the other, or some in
// turns (GpuClusterHelper.h). Each instruction is translated to LLVM IR of this machine by the rules of NVIDIA's PTX
// ISA (PtxCodeHelper.h). So all that the compiler does is checked without a GPU, LLVM's selection of instructions and
// inline assembly included; ptxas and time are not.
//
// Strict where hardware may be lenient: an unknown instruction, a shuffle that not all lanes of the warp reach, a
// barrier that not all threads reach, and a deadlock are errors, and so are accesses that are not aligned, or outside
// of the buffers and the shared memory of the launch, and data races on request (GpuRacesHelper.h). Threads run in the
// requested order, so that a missing barrier, or one thread that writes what another reads, shows as a different
// result. Shared memory, local memory and registers hold NaNs or a pattern until they are written.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/emulator/GpuMemoryHelper.h"
#include "tests/passes/gpu/emulator/GpuThreadsHelper.h"

namespace spmdc {

struct GpuLaunch {
  int64_t gridBlocks = 1;
  int32_t blockThreads = 32;
  std::vector<void *> arguments = {}; ///< Words of 8 bytes.
  ThreadOrder order = ThreadOrder::forward();
  int64_t sharedBytes = 0; ///< The shared memory that the launch requests.
  /// Blocks without clusters that run in turns: at each strong access to global memory, another block may run.
  int32_t residentBlocks = 1;
  /// The memory that the kernel may access; empty: all of the process, if the caller has guards of its own.
  std::vector<GpuBuffer> buffers = {};
  /// Called for cudaGraphSetConditional.
  std::function<void(uint64_t condition, uint32_t value)> setCondition = {};
  bool findsRaces = false; ///< Whether accesses that nothing orders are errors (GpuRacesHelper.h).
};

class GpuEmulator {
public:
  /// Takes PTX. `error` (`line 12: ...`) is set if it cannot be run.
  GpuEmulator(const std::string &ptx, std::string &error);
  ~GpuEmulator();

  /// Runs a kernel to its end; returns an error, or an empty string.
  std::string launch(const std::string &symbol, const GpuLaunch &launch);

  /// The number of arguments of a kernel; -1 if there is no kernel of this name.
  int64_t countArguments(const std::string &symbol) const;
  /// The bytes of shared memory that a kernel declares.
  int64_t countSharedBytes(const std::string &symbol) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace spmdc
