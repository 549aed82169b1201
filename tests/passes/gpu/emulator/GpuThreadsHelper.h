//===- GpuThreadsHelper.h - the threads of one block ------------*- C++ -*-===//
//
// Every thread is a fiber that barriers, warp synchronisation and shuffles suspend. Between two of them a thread runs
// alone, so its accesses all come before or after those of another thread: an order and its reverse run every pair of
// threads in both orders.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/emulator/GpuMatricesHelper.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace spmdc {

/// The order in which blocks, the warps of a block and the threads of a warp run.
class ThreadOrder {
public:
  static ThreadOrder forward() { return ThreadOrder(Kind::Forward, 0); }
  static ThreadOrder backward() { return ThreadOrder(Kind::Backward, 0); }
  /// Another order at each request; warps take turns at every shuffle.
  static ThreadOrder shuffled(uint32_t seed) { return ThreadOrder(Kind::Shuffled, seed); }

  /// The numbers below `count`, first to last.
  std::vector<int64_t> permute(int64_t count);
  bool takesTurns() const { return kind == Kind::Shuffled; }
  bool isForward() const { return kind == Kind::Forward; }

private:
  enum class Kind { Forward, Backward, Shuffled };
  ThreadOrder(Kind kind, uint32_t seed) : kind(kind), random(seed) {}

  Kind kind;
  std::mt19937 random;
};

class GpuCluster;

/// The 8 bytes in shared memory of an mbarrier.
struct PhaseBarrier {
  uint32_t expected : 20, isPrepared : 12; ///< The latter has a pattern that other memory hardly has.
  uint32_t pending : 20, completed : 12;   ///< Arrivals that the current phase still needs; phases before it.

  static constexpr uint32_t kPrepared = 0xb5a;
  /// Returns whether the phase is complete.
  bool arrive() {
    if (--pending != 0)
      return false;
    pending = expected;
    ++completed;
    return true;
  }
  /// Whether the last phase of this parity is complete; the one before the first counts as such.
  bool hasCompleted(uint32_t parity) const { return (completed & 1) != parity; }
};

class GpuBlock {
public:
  GpuBlock(int32_t threads, GpuCluster &cluster);

  static constexpr int32_t kWarp = 32;

  /// Prepares a kernel to run as block number `block`.
  void start(void (*kernel)(void **), void **arguments, int64_t block);
  /// Runs the threads until all have ended or wait for the cluster, or those that can go on let other blocks run;
  /// returns an error, or an empty string.
  std::string run(ThreadOrder &order);
  bool hasFinished() const;
  /// Whether threads let other blocks run.
  bool isInTurns() const;
  /// Lets all threads go on that wait for the cluster.
  void leaveClusterBarrier();
  /// Ends the run with an error that the running thread has made.
  void report(const std::string &what);

  /// Reports an error of the running thread, which ends there.
  static void failThread(const std::string &what) { active->report(what); }
  [[noreturn]] static void endThread();
  /// Lets other threads and blocks run, of which one may write what the running thread reads next.
  static void takeTurn() { active->wait(Fiber::AtTurn); }
  /// Whether memory belongs to variables of the running thread.
  static bool isOnStack(uint64_t address);

  enum class ShuffleKind : int32_t { Butterfly, Index, Up, Down, Ballot };
  enum class MatrixKind : int32_t {
    None,
    Load,
    LoadTransposed,
    MultiplyBf16,
    MultiplyF16,
    MultiplyI8,
    MultiplyU8,
    Warpgroup
  };

  /// An instruction that is executed when the kernel waits for it, so that a factor which changes before that, or a
  /// result that is read, is an error of the kernel.
  struct StartedProduct {
    uint32_t product = 0;
    std::vector<uint32_t> words; ///< As those of Fiber.
    std::vector<float *> sums;   ///< The registers of its results.
    bool accumulates = false;    ///< The sums before it are added.
  };
  /// A product that was started: the same for all threads of a warpgroup.
  struct ProductStart {
    uint32_t product = 0;
    std::array<uint64_t, 2> descriptors = {}; ///< That of the left factor is 0 if the factor is in registers.
    bool accumulates = false;
    bool operator==(const ProductStart &) const = default;
  };
  /// An arrival at a barrier (mbarrier) when copies are finished.
  struct CopyArrival {
    PhaseBarrier *barrier = nullptr;
    size_t copies = 0; ///< Those since the arrival before.
    GpuView view;      ///< Released by the arrival, if races are looked for.
  };
  struct Fiber {
    enum Wait { Ready, AtBarrier, AtWarpSync, AtShuffle, AtCluster, AtPhase, AtTurn, Finished } wait = Ready;
    bool hasArrived = false; ///< At the barrier of the cluster, for which it has not waited yet.
    std::unique_ptr<char[]> stack;
    void *context = nullptr; ///< Its stack pointer while it is suspended.
    int32_t thread = 0;
    ShuffleKind kind = ShuffleKind::Butterfly;
    uint32_t value = 0, offset = 0, clamp = 0;
    bool isInside = false;                  ///< Whether the value is that of a lane of the shuffle.
    MatrixKind matrices = MatrixKind::None; ///< If not None, the shuffle is an instruction on matrices:
    uint32_t product = 0;                   ///< Of MatrixKind::Warpgroup: an encoded WarpgroupProduct.
    uint32_t *words = nullptr;              ///< its operands, then its results (GpuMatricesHelper.h).
    std::vector<GpuCopy> copies;            ///< Started and not finished.
    std::deque<size_t> copyGroups;          ///< The first of these copies, in groups that are committed.
    /// Arrivals of this thread when its first copies are finished.
    std::deque<CopyArrival> arrivals;
    PhaseBarrier *phaseBarrier = nullptr; ///< AtPhase: waits for the phase of this parity to complete.
    uint32_t phaseParity = 0;
    /// Products of warpgroups that are started and not finished: groups of instructions, the last one not committed.
    std::deque<std::vector<StartedProduct>> products{{}};
    bool hasFence = false;      ///< wgmma.fence, since the last wait for products.
    size_t startedProducts = 0; ///< In the block so far, of a warpgroup's.
  };

  /// The block that runs.
  static thread_local GpuBlock *active;
  GpuCluster &cluster;
  std::vector<Fiber> fibers;
  Fiber *current = nullptr; ///< The thread that runs.
  int64_t number = 0;
  size_t arrivals = 0; ///< Those of all fibers.
  /// The products that each warpgroup has started, in order: the same in all of its warps.
  std::vector<std::vector<ProductStart>> productStarts;
  /// Suspends the running fiber until the others have arrived.
  void wait(Fiber::Wait wait);
  /// Looks for races; null if the launch does not.
  GpuRaces *races() const;

private:
  static void enter();
  /// Prepares the fiber to begin with `enter`.
  static void start(Fiber &fiber);
  /// Lets the threads of a warp run to their next stop; true if any of them could.
  bool stepWarp(int64_t warp, ThreadOrder &order);
  /// Lets threads go on that have met at a barrier.
  void meet(int32_t first, int32_t last);
  void resolveShuffle(int32_t first, int32_t last);
  void resolveMatrices(int32_t first, int32_t last);
  /// Lets a thread go on whose phase of a barrier is complete.
  bool isReady(Fiber &fiber);
  /// Finishes the copies for which a barrier waits, as late as the kernel allows.
  void finishCopies(PhaseBarrier *barrier);

  /// An error if the threads cannot go on together; lets them pass a barrier that all have reached. Sets `isPaused` if
  /// all wait for the cluster.
  std::string passBarrier(bool &isPaused);

  void (*entry)(void **) = nullptr;
  void **arguments = nullptr;
  void *scheduler = nullptr; ///< Its stack pointer while a fiber runs.
  std::string problem;
};

} // namespace spmdc
