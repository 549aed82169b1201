//===- GpuThreadsHelper.h - the threads of one block ------------*- C++ -*-===//
//
// Every thread is a fiber that barriers, warp synchronisation and shuffles suspend. Between two of them a thread runs
// alone, so what it reads and writes there happens as a whole before or after what another one does: an order and its
// reverse show every pair of threads both ways round.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/GpuIntrinsicsHelper.h"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace spmdc {

/// In which order blocks, the warps of a block and the threads of a warp run.
class ThreadOrder {
public:
  static ThreadOrder forward() { return ThreadOrder(Kind::Forward, 0); }
  static ThreadOrder backward() { return ThreadOrder(Kind::Backward, 0); }
  /// Another order each time they are asked for; warps take turns at every shuffle.
  static ThreadOrder shuffled(uint32_t seed) { return ThreadOrder(Kind::Shuffled, seed); }

  /// The numbers below `count`, first to last.
  std::vector<int64_t> permute(int64_t count);
  bool takesTurns() const { return kind == Kind::Shuffled; }

private:
  enum class Kind { Forward, Backward, Shuffled };
  ThreadOrder(Kind kind, uint32_t seed) : kind(kind), random(seed) {}

  Kind kind;
  std::mt19937 random;
};

class GpuBlock {
public:
  explicit GpuBlock(int32_t threads);

  /// Runs a kernel as block number `block`; returns what is wrong with it, or nothing.
  std::string run(void (*kernel)(void **), void **arguments, int64_t block, ThreadOrder &order);

  enum class ShuffleKind : int32_t { Butterfly, Index, Up, Down };

private:
  friend struct GpuThreadIntrinsics;
  struct Fiber {
    enum Wait { Ready, AtBarrier, AtWarpSync, AtShuffle, Finished } wait = Ready;
    std::unique_ptr<char[]> stack;
    void *context = nullptr; ///< Its stack pointer while it is suspended.
    int32_t thread = 0;
    ShuffleKind kind = ShuffleKind::Butterfly;
    uint32_t value = 0, offset = 0, clamp = 0;
  };

  static void enter();
  /// Prepares the fiber to begin with `enter`.
  static void start(Fiber &fiber);
  /// The fiber that runs stops here until the others have come.
  void wait(Fiber::Wait wait);
  /// Lets the threads of a warp run to their next stop; true if any of them could.
  bool stepWarp(int64_t warp, ThreadOrder &order);
  void resolveShuffle(int32_t first, int32_t last);

  static thread_local GpuBlock *active;

  std::vector<Fiber> fibers;
  Fiber *current = nullptr;
  int64_t number = 0;
  void (*entry)(void **) = nullptr;
  void **arguments = nullptr;
  void *scheduler = nullptr; ///< Its stack pointer while a fiber runs.
  std::string problem;
};

/// Those that have to do with threads. `shuffle` (int32_t kind, uint32_t value, offset, clamp) answers all of
/// shfl.sync.
std::vector<GpuIntrinsic> getThreadIntrinsics();

} // namespace spmdc
