//===- GpuThreadsHelper.cpp - the threads of one block --------------------===//

#include "tests/passes/gpu/emulator/GpuThreadsHelper.h"

#include "tests/passes/gpu/emulator/GpuClusterHelper.h"

#include <algorithm>
#include <numeric>

namespace spmdc {
namespace {

constexpr size_t kStackBytes = 128 * 1024;

/// Stores the stack pointer to `from` and continues on the stack `to`; the registers that a call preserves are on top
/// of a suspended stack. The rounding mode is not saved: intrinsics restore it before another thread runs. swapcontext
/// does the same with two system calls for the signal mask, which were most of the emulator's time.
[[gnu::naked, gnu::noinline]] void switchStack(void **from, void *to) {
  asm(R"(
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    retq)");
}
/// Registers that switchStack saves.
constexpr size_t kSavedRegisters = 6;

} // namespace

std::vector<int64_t> ThreadOrder::permute(int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (kind == Kind::Backward)
    std::reverse(order.begin(), order.end());
  else if (kind == Kind::Shuffled)
    // Not std::shuffle, whose result depends on the library.
    for (int64_t i = count - 1; i > 0; --i)
      std::swap(order[i], order[random() % (i + 1)]);
  return order;
}

thread_local GpuBlock *GpuBlock::active = nullptr;

GpuBlock::GpuBlock(int32_t threads, GpuCluster &cluster) : cluster(cluster), fibers(threads) {
  for (int32_t t = 0; t < threads; ++t) {
    fibers[t].thread = t;
    fibers[t].stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  }
}

// It never returns, which would confuse a sanitizer that counts calls and returns.
[[clang::disable_sanitizer_instrumentation]] void GpuBlock::enter() {
  GpuBlock &block = *active;
  block.entry(block.arguments);
  Fiber &fiber = *block.current;
  if (fiber.products.size() != 1 || !fiber.products.front().empty())
    block.report("ends while a product of a warpgroup runs");
  fiber.wait = Fiber::Finished;
  switchStack(&fiber.context, block.scheduler);
}

void GpuBlock::endThread() {
  active->current->wait = Fiber::Finished;
  switchStack(&active->current->context, active->scheduler);
  std::abort();
}

bool GpuBlock::isOnStack(uint64_t address) {
  auto begin = reinterpret_cast<uint64_t>(active->current->stack.get());
  return address >= begin && address < begin + kStackBytes;
}

void GpuBlock::start(Fiber &fiber) {
  auto end = reinterpret_cast<uintptr_t>(fiber.stack.get() + kStackBytes) / 16 * 16;
  void **top = reinterpret_cast<void **>(end);
  // A function begins with its return address, which `enter` does not have, at the end of a stack aligned to 16 bytes.
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(&GpuBlock::enter);
  for (size_t i = 0; i < kSavedRegisters; ++i)
    *--top = nullptr;
  fiber.context = top;
  fiber.wait = Fiber::Ready;
  fiber.copies.clear();
  fiber.arrivals.clear();
  if (fiber.products.size() != 1 || !fiber.products.front().empty())
    fiber.products.assign(1, {});
  fiber.matrices = MatrixKind::None;
  fiber.hasArrived = fiber.hasFence = false;
  fiber.startedProducts = 0;
}

void GpuBlock::wait(Fiber::Wait wait) {
  current->wait = wait;
  switchStack(&current->context, scheduler);
}

void GpuBlock::resolveMatrices(int32_t first, int32_t last) {
  MatrixKind kind = fibers[first].matrices;
  std::vector<uint32_t *> lanes;
  for (int32_t t = first; t < last; ++t) {
    if (fibers[t].matrices != kind || fibers[t].product != fibers[first].product || last - first != kWarp)
      problem = "the lanes of a warp execute different instructions on matrices";
    lanes.push_back(fibers[t].words);
    fibers[t].matrices = MatrixKind::None;
    fibers[t].wait = Fiber::Ready;
  }
  if (!problem.empty())
    return;
  // A warp's part needs nothing of the other three, which execute the same product at their own time.
  if (kind == MatrixKind::Warpgroup) {
    if (!WarpgroupProduct::decode(fibers[first].product).run(lanes, cluster.memory, first / kWarp % 4))
      problem = "a product of a warpgroup reads beyond shared memory";
    return;
  }
  if (kind == MatrixKind::Load || kind == MatrixKind::LoadTransposed)
    loadMatrices(lanes, kind == MatrixKind::LoadTransposed);
  else if (kind == MatrixKind::MultiplyI8 || kind == MatrixKind::MultiplyU8)
    multiplyBytes(lanes, kind == MatrixKind::MultiplyI8);
  else
    multiplyMatrices(lanes, kind == MatrixKind::MultiplyBf16);
}

void GpuBlock::resolveShuffle(int32_t first, int32_t last) {
  if (fibers[first].matrices != MatrixKind::None)
    return resolveMatrices(first, last);
  std::vector<uint32_t> values;
  for (int32_t t = first; t < last; ++t)
    values.push_back(fibers[t].value);
  for (int32_t t = first; t < last; ++t) {
    Fiber &fiber = fibers[t];
    int32_t lane = t - first, source = lane, offset = static_cast<int32_t>(fiber.offset);
    int32_t clamp = static_cast<int32_t>(fiber.clamp & 31);
    if (fiber.clamp >> 8 != 0 && problem.empty())
      problem = "a shuffle over parts of a warp, which this emulator does not know";
    if (fiber.kind != fibers[first].kind && problem.empty())
      problem = "the lanes of a warp execute different shuffles";
    switch (fiber.kind) {
    case ShuffleKind::Ballot:
      fiber.value = 0;
      for (size_t i = 0; i < values.size(); ++i)
        fiber.value |= static_cast<uint32_t>(values[i] != 0) << i;
      fiber.wait = Fiber::Ready;
      continue;
    case ShuffleKind::Butterfly:
      source = lane ^ offset;
      break;
    case ShuffleKind::Index:
      source = offset;
      break;
    case ShuffleKind::Up:
      source = lane - offset;
      break;
    case ShuffleKind::Down:
      source = lane + offset;
      break;
    }
    bool isInside = fiber.kind == ShuffleKind::Up ? source >= clamp : source <= clamp;
    fiber.isInside = isInside;
    if (isInside && (source < 0 || source >= static_cast<int32_t>(values.size())) && problem.empty())
      problem = "a shuffle from a lane that does not exist";
    else if (isInside)
      fiber.value = values[source];
    fiber.wait = Fiber::Ready;
  }
}

void GpuBlock::finishCopies(PhaseBarrier *barrier) {
  for (Fiber &fiber : fibers) {
    if (arrivals == 0)
      return;
    auto isWaited = [&](const CopyArrival &arrival) { return arrival.barrier == barrier; };
    while (std::any_of(fiber.arrivals.begin(), fiber.arrivals.end(), isWaited)) {
      // An arrival is that of all copies before it.
      auto [reached, count, view] = fiber.arrivals.front();
      fiber.arrivals.pop_front();
      --arrivals;
      for (size_t i = 0; i < count; ++i)
        fiber.copies[i].finish();
      fiber.copies.erase(fiber.copies.begin(), fiber.copies.begin() + static_cast<std::ptrdiff_t>(count));
      bool isComplete = reached->arrive();
      if (races())
        races()->arriveAtPhase(reached, view, isComplete);
    }
  }
}

bool GpuBlock::isReady(Fiber &fiber) {
  if (fiber.wait == Fiber::AtPhase) {
    finishCopies(fiber.phaseBarrier);
    if (fiber.phaseBarrier->hasCompleted(fiber.phaseParity))
      fiber.wait = Fiber::Ready;
  }
  return fiber.wait == Fiber::Ready;
}

GpuRaces *GpuBlock::races() const { return cluster.memory.races.get(); }

void GpuBlock::meet(int32_t first, int32_t last) {
  for (int32_t t = first; t < last; ++t)
    fibers[t].wait = Fiber::Ready;
  if (races())
    races()->meet(first, last);
}

bool GpuBlock::stepWarp(int64_t warp, ThreadOrder &order) {
  int32_t first = static_cast<int32_t>(warp) * kWarp;
  int32_t last = std::min<int32_t>(first + kWarp, static_cast<int32_t>(fibers.size()));
  bool hasRun = false;
  for (int64_t lane : order.permute(last - first)) {
    Fiber &fiber = fibers[first + lane];
    if (!isReady(fiber))
      continue;
    current = &fiber;
    switchStack(&scheduler, fiber.context);
    hasRun = true;
  }
  int32_t shuffles = 0, syncs = 0, phases = 0;
  for (int32_t t = first; t < last; ++t) {
    shuffles += fibers[t].wait == Fiber::AtShuffle;
    syncs += fibers[t].wait == Fiber::AtWarpSync;
    phases += fibers[t].wait == Fiber::AtPhase || fibers[t].wait == Fiber::AtTurn;
  }
  if (shuffles == last - first)
    resolveShuffle(first, last);
  else if (syncs == last - first)
    meet(first, last);
  else if ((shuffles || syncs) && !phases)
    problem = "block " + std::to_string(number) + ": only " + std::to_string(std::max(shuffles, syncs)) + " of the " +
              std::to_string(last - first) + " threads from " + std::to_string(first) + " on reach a warp operation";
  return hasRun && problem.empty();
}

void GpuBlock::start(void (*kernel)(void **), void **kernelArguments, int64_t block) {
  entry = kernel;
  arguments = kernelArguments;
  number = block;
  problem.clear();
  arrivals = 0;
  productStarts.assign(fibers.size() / (kWarp * 4) + 1, {});
  for (Fiber &fiber : fibers)
    start(fiber);
}

bool GpuBlock::hasFinished() const {
  return std::all_of(fibers.begin(), fibers.end(), [](const Fiber &fiber) { return fiber.wait == Fiber::Finished; });
}

void GpuBlock::leaveClusterBarrier() {
  for (Fiber &fiber : fibers)
    if (fiber.wait == Fiber::AtCluster) {
      fiber.wait = Fiber::Ready;
      fiber.hasArrived = false;
    }
}

void GpuBlock::report(const std::string &what) {
  if (problem.empty())
    problem = "block " + std::to_string(number) + ": thread " + std::to_string(current->thread) + ": " + what;
}

std::string GpuBlock::passBarrier(bool &isPaused) {
  size_t finished = 0, atBarrier = 0, atCluster = 0;
  isPaused = isInTurns();
  if (isPaused)
    return "";
  for (Fiber &fiber : fibers) {
    if (fiber.wait == Fiber::AtPhase)
      return "block " + std::to_string(number) + ": thread " + std::to_string(fiber.thread) +
             " waits for a phase of a barrier at which too few threads arrive";
    finished += fiber.wait == Fiber::Finished;
    atBarrier += fiber.wait == Fiber::AtBarrier;
    atCluster += fiber.wait == Fiber::AtCluster;
  }
  isPaused = finished == fibers.size() || atCluster == fibers.size();
  if (finished == fibers.size())
    for (const Fiber &fiber : fibers)
      if (!fiber.copies.empty())
        return "block " + std::to_string(number) + ": thread " + std::to_string(fiber.thread) +
               " has ended, and nothing has waited for its copies";
  if (isPaused)
    return "";
  if (atBarrier != fibers.size())
    return "block " + std::to_string(number) + ": " + std::to_string(atBarrier) + " threads wait at a barrier, " +
           (atCluster ? std::to_string(atCluster) + " for the cluster, " : "") + std::to_string(finished) + " of " +
           std::to_string(fibers.size()) + " have ended";
  meet(0, static_cast<int32_t>(fibers.size()));
  return "";
}

bool GpuBlock::isInTurns() const {
  return std::any_of(fibers.begin(), fibers.end(), [](const Fiber &fiber) { return fiber.wait == Fiber::AtTurn; });
}

std::string GpuBlock::run(ThreadOrder &order) {
  GpuBlock *outer = active;
  active = this;
  for (Fiber &fiber : fibers)
    if (fiber.wait == Fiber::AtTurn)
      fiber.wait = Fiber::Ready;
  int32_t warps = (static_cast<int32_t>(fibers.size()) + kWarp - 1) / kWarp;
  for (bool isPaused = false; problem.empty() && !isPaused;) {
    bool hasRun = false;
    for (int64_t warp : order.permute(warps)) {
      bool moved = stepWarp(warp, order);
      hasRun |= moved;
      while (moved && !order.takesTurns())
        moved = stepWarp(warp, order);
    }
    bool canGoOn = std::any_of(fibers.begin(), fibers.end(), [this](Fiber &fiber) { return isReady(fiber); });
    if (problem.empty() && !(hasRun && canGoOn))
      problem = passBarrier(isPaused);
  }
  active = outer;
  return problem;
}

} // namespace spmdc
