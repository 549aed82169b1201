//===- GpuClusterHelper.h - the blocks of one cluster -----------*- C++ -*-===//
//
// Runs the blocks of a cluster, or others that are on the GPU at once, each with shared memory of its own: a block runs
// until it ends, all its threads wait for the cluster, or they look at memory that other blocks write; then the next
// block runs. The code of all blocks addresses the same window of memory, so the bytes
// of a block in a cluster are copied there before it runs, and back afterwards. Another block's shared memory (mapa) is
// its copy.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/emulator/GpuThreadsHelper.h"

#include <span>

namespace spmdc {

/// The bytes of shared memory before a block begins: NaN for most types of floats.
inline constexpr char kSharedPattern = static_cast<char>(0xff);

class GpuCluster {
public:
  GpuCluster(int32_t blocks, int32_t blockThreads, GpuMemory &memory);

  /// Sets what is the same for all clusters of a launch: the blocks of its grid, and their shared memory.
  void start(int64_t blocks, uint64_t windowBytes);
  /// The shared memory of its blocks, which generic addresses may name.
  std::vector<GpuBuffer> getBuffers() const;
  /// Runs blocks `first`, `first` + 1, ... of the grid; returns an error, or an empty string.
  std::string run(void (*kernel)(void **), void **arguments, int64_t first, ThreadOrder &order);

  /// The address of another block's copy of the running block's shared memory at `address`.
  void *mapAddress(void *address, int32_t rank);
  int32_t countBlocks() const { return static_cast<int32_t>(members.size()); }
  int64_t countGridBlocks() const { return gridBlocks; }

  GpuMemory &memory;

private:
  /// Makes the memory of this block the one that code names.
  void enter(size_t rank);
  void leave(size_t rank);
  std::string runBlock(size_t rank, ThreadOrder &order);
  /// Lets threads go on that wait for the cluster, if all have arrived.
  std::string release();

  struct Member {
    std::unique_ptr<GpuBlock> block;
    std::vector<char> memory; ///< Empty if the cluster has one block, whose memory is the window.
    bool hasBegun = false;
  };
  /// The blocks that run now: the last ones of a grid may be fewer.
  std::span<Member> present();
  std::vector<Member> members;
  size_t running = 0;
  int64_t firstBlock = 0, gridBlocks = 0;
};

} // namespace spmdc
