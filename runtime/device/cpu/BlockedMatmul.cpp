//===- BlockedMatmul.cpp - loop over rows x panels ------------------------===//

#include "runtime/device/cpu/BlockedMatmul.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace spmd {
namespace {

int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }
int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

void BlockedMatmul::setBlocking(const Blocking &newBlocking) {
  blocking = newBlocking;
  blocking.packedPanelBytes = alignUp(blocking.packedPanelBytes);
  blocking.threadScratchBytes = alignUp(blocking.threadScratchBytes);
  rowBlocks = ceilDiv(shape.m, blocking.rowBlock);
  panels = ceilDiv(shape.n, blocking.panelColumns);
}

/// With many small products each thread computes entire products. That affects the work of threads only, not the bits.
bool BlockedMatmul::isBatchParallel() const {
  return shape.batch > 1 && (threads == 1 || shape.batch >= 4 * threads || rowBlocks * panels < 2 * threads);
}

int64_t BlockedMatmul::getScratchBytes() const {
  int64_t packed = panels * blocking.packedPanelBytes;
  int64_t counters = alignUp(rowBlocks * int64_t(sizeof(std::atomic<uint32_t>)));
  return (isBatchParallel() ? threads * packed : packed) + threads * blocking.threadScratchBytes + counters;
}

void BlockedMatmul::runElement(const ParallelFor &parallelFor, int64_t element, const char *lhs, const char *rhs,
                               char *result, char *packed, char *threadScratch, int thread, RowsDone rowsDone) {
  for (int64_t block = 0; block < rowBlocks && !parallelFor.shouldStop(); ++block) {
    int64_t row = block * blocking.rowBlock, rows = std::min(blocking.rowBlock, shape.m - row);
    for (int64_t panel = 0; panel < panels; ++panel) {
      char *packedPanel = packed + panel * blocking.packedPanelBytes;
      // Each panel just before it is read first, while it is in a cache.
      if (blocking.packedPanelBytes && block == 0)
        packPanel(rhs, panel, packedPanel, thread);
      multiplyBlock(lhs, rhs, packedPanel, result, row, rows, panel, thread, threadScratch);
    }
    rowsDone(element * shape.m + row, element * shape.m + row + rows);
  }
}

void BlockedMatmul::run(ParallelFor &parallelFor, const void *lhs, const void *rhs, void *result, void *scratch,
                        RowsDone rowsDone) {
  if (shape.batch == 0 || shape.m == 0 || shape.n == 0)
    return;
  int64_t operandBytes = byteSize(shape.operand), resultBytes = byteSize(shape.result);
  auto *lhsBytes = static_cast<const char *>(lhs), *rhsBytes = static_cast<const char *>(rhs);
  auto *resultData = static_cast<char *>(result);
  if (shape.k == 0) {
    std::memset(result, 0, shape.batch * shape.m * shape.n * resultBytes);
    rowsDone(0, shape.batch * shape.m);
    return;
  }
  int64_t resultStride = shape.m * shape.n * resultBytes;
  auto lhsOf = [&](int64_t b) { return lhsBytes + startOfLhs(b) * operandBytes; };
  auto rhsOf = [&](int64_t b) { return rhsBytes + startOfRhs(b) * operandBytes; };
  int64_t packedBytes = panels * blocking.packedPanelBytes;
  char *threadScratch = static_cast<char *>(scratch);
  char *packed = threadScratch + threads * blocking.threadScratchBytes;

  if (isBatchParallel()) {
    parallelFor.run(shape.batch, 1, [&](int64_t begin, int64_t end, int thread) {
      enterThread();
      for (int64_t b = begin; b < end; ++b)
        runElement(parallelFor, b, lhsOf(b), rhsOf(b), resultData + b * resultStride, packed + thread * packedBytes,
                   threadScratch + thread * blocking.threadScratchBytes, thread, rowsDone);
      leaveThread();
    });
    checkErrors();
    return;
  }
  auto *finished = reinterpret_cast<std::atomic<uint32_t> *>(packed + packedBytes);
  for (int64_t b = 0; b < shape.batch; ++b) {
    const char *left = lhsOf(b), *right = rhsOf(b);
    if (parallelFor.getThreadCount() == 1) {
      enterThread();
      runElement(parallelFor, b, left, right, resultData + b * resultStride, packed, threadScratch, 0, rowsDone);
      leaveThread();
      continue;
    }
    if (blocking.packedPanelBytes)
      parallelFor.run(panels, 1, [&](int64_t begin, int64_t end, int thread) {
        for (int64_t panel = begin; panel < end; ++panel)
          packPanel(right, panel, packed + panel * blocking.packedPanelBytes, thread);
      });
    for (int64_t i = 0; i < rowBlocks; ++i)
      new (&finished[i]) std::atomic<uint32_t>(0);
    parallelFor.run(rowBlocks * panels, 1, [&](int64_t begin, int64_t end, int thread) {
      enterThread();
      for (int64_t task = begin; task < end && !parallelFor.shouldStop(); ++task) {
        int64_t block = task / panels, panel = task % panels;
        int64_t row = block * blocking.rowBlock, rows = std::min(blocking.rowBlock, shape.m - row);
        multiplyBlock(left, right, packed + panel * blocking.packedPanelBytes, resultData + b * resultStride, row, rows,
                      panel, thread, threadScratch + thread * blocking.threadScratchBytes);
        if (finished[block].fetch_add(1, std::memory_order_acq_rel) + 1 == panels)
          rowsDone(b * shape.m + row, b * shape.m + row + rows);
      }
      leaveThread();
    });
  }
  checkErrors();
}

} // namespace spmd
