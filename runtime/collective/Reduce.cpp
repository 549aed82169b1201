//===- Reduce.cpp - element-wise reduction of several buffers -------------===//

#include "runtime/collective/Reduce.h"
#include "runtime/device/cpu/Convert.h"
#include "runtime/device/cpu/CpuIsa.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace spmd {
namespace {

using CombineFunction = void (*)(const void *a, const void *b, void *result, int64_t count);

#define SPMD_LOOPS "runtime/collective/ReduceLoops.inc"
#include "runtime/device/cpu/CpuVariants.inc"

/// Elements reduced at a time: the partial results of all levels stay in the L1 cache.
constexpr int64_t blockElements = 1024;
constexpr int64_t blockBytes = blockElements * 8;

} // namespace

const char *reductionName(ReductionKind kind) {
  constexpr const char *names[] = {"sum", "prod", "max", "min", "and", "or"};
  return names[static_cast<int>(kind)];
}

TreeReducer::TreeReducer(DType dtype, ReductionKind kind, int64_t groupSize, std::shared_ptr<Scratch> shared)
    : dtype(dtype), isHalf(dtype == DType::BF16 || dtype == DType::F16), groupSize(groupSize),
      combine(SPMD_VARIANT(find)(dtype, kind)), scratch(shared ? std::move(shared) : std::make_shared<Scratch>()) {
  if (!combine)
    throw Error(std::string("a collective cannot reduce ") + std::string(dtypeName(dtype)) + " by " +
                reductionName(kind));
  levels = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(groupSize, 1)));
  // Two partial results per level, and two widened leaves.
  scratchPerThread = (2 * levels + 2) * blockBytes;
  setThreads(1);
}

void TreeReducer::setThreads(int threads) {
  scratch->resize(std::max<size_t>(scratch->size(), threads * scratchPerThread + 64));
}

const void *TreeReducer::evaluate(const Inputs &inputs, int64_t offset, int64_t first, int64_t size, int level,
                                  int64_t count, void *target, char *local) const {
  if (size == 1) {
    const void *leaf = static_cast<const char *>(inputs.sources[first]) + offset * byteSize(dtype);
    if (!isHalf)
      return leaf;
    widenToF32(dtype, leaf, static_cast<float *>(target), count);
    return target;
  }
  if (inputs.subtrees && inputs.subtrees[first].data && inputs.subtrees[first].size == size)
    return static_cast<const char *>(inputs.subtrees[first].data) + offset * accumulatedBytes();
  auto half = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size - 1)));
  char *left = local + 2 * level * blockBytes, *right = left + blockBytes;
  const void *a = evaluate(inputs, offset, first, half, level + 1, count, left, local);
  const void *b = evaluate(inputs, offset, first + half, size - half, level + 1, count, right, local);
  combine(a, b, target, count);
  return target;
}

char *TreeReducer::scratchOf(int thread) {
  return scratch->data() + (64 - reinterpret_cast<uintptr_t>(scratch->data()) % 64) % 64 + thread * scratchPerThread;
}

int64_t TreeReducer::accumulatedBytes() const { return isHalf ? 4 : byteSize(dtype); }

void TreeReducer::reduce(const void *const *sources, void *target, int64_t count, int thread) {
  reduceWith(sources, nullptr, target, count, thread);
}

void TreeReducer::reduceWith(const void *const *sources, const Subtree *subtrees, void *target, int64_t count,
                             int thread) {
  int64_t elementBytes = byteSize(dtype);
  if (groupSize == 1) {
    if (target != sources[0])
      std::memcpy(target, sources[0], count * elementBytes);
    return;
  }
  char *local = scratchOf(thread);
  Inputs inputs{sources, subtrees};
  for (int64_t begin = 0; begin < count; begin += blockElements) {
    int64_t length = std::min(blockElements, count - begin);
    char *out = static_cast<char *>(target) + begin * elementBytes;
    if (isHalf) {
      char *wide = local + 2 * levels * blockBytes;
      evaluate(inputs, begin, 0, groupSize, 0, length, wide, local);
      narrowFromF32(dtype, reinterpret_cast<float *>(wide), out, length);
    } else {
      evaluate(inputs, begin, 0, groupSize, 0, length, out, local);
    }
  }
}

void TreeReducer::reduceSubtree(const void *const *sources, int64_t first, int64_t size, void *target, int64_t count,
                                int thread) {
  char *local = scratchOf(thread);
  Inputs inputs{sources, nullptr};
  for (int64_t begin = 0; begin < count; begin += blockElements)
    evaluate(inputs, begin, first, size, 0, std::min(blockElements, count - begin),
             static_cast<char *>(target) + begin * accumulatedBytes(), local);
}

} // namespace spmd
