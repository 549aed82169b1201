//===- GpuClusterHelper.h - the blocks of one cluster -----------*- C++ -*-===//
//
// Runs the blocks of a cluster, each with shared memory of its own: a block runs until it ends or all its threads wait
// for the cluster; then the next block runs. The code of all blocks names the same memory, so a block's bytes are
// copied there before it runs, and back afterwards. Another block's shared memory (mapa) is its copy.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/emulator/GpuThreadsHelper.h"

namespace spmdc {

/// The bytes of shared memory before a block begins.
inline constexpr char kSharedPattern = static_cast<char>(0xa5);

/// An array in shared memory.
struct SharedArray {
  char *memory = nullptr;
  uint64_t bytes = 0;
};

class GpuCluster {
public:
  GpuCluster(int32_t blocks, int32_t blockThreads);

  /// Runs blocks `first`, `first` + 1, ...; returns an error, or an empty string. `check` tests the memory of a block
  /// that has ended, and returns an error too.
  std::string run(void (*kernel)(void **), void **arguments, int64_t first, ThreadOrder &order,
                  const std::vector<SharedArray> &shared, const std::function<std::string()> &check);

  /// The begin of shared memory, for instructions that address it by numbers.
  void setLaunchShared(const char *memory) {
    for (Member &member : members)
      member.block->setShared(memory);
  }

  /// The address of another block's copy of the running block's shared memory at `address`.
  void *mapAddress(void *address, int32_t rank);

private:
  /// Makes the memory of this block the one that code names.
  void enter(size_t rank);
  void leave(size_t rank);
  std::string runBlock(size_t rank, ThreadOrder &order);
  /// Lets threads go on that wait for the cluster, if all have arrived.
  std::string release();

  struct Member {
    std::unique_ptr<GpuBlock> block;
    std::vector<std::vector<char>> memory; ///< One copy for each shared array.
    bool hasBegun = false;
  };
  std::vector<Member> members;
  const std::vector<SharedArray> *shared = nullptr;
  size_t running = 0;
  int64_t firstBlock = 0;
};

} // namespace spmdc
