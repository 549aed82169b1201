//===- LoopStop.cpp - ends the loops of graphs ----------------------------===//

#include "runtime/device/cuda/LoopStop.h"

#include <atomic>

namespace spmd::cuda {

LoopStop::LoopStop(const Gpu &gpu) : driver(gpu.getDriver()) {
  void *memory = nullptr;
  // With unified addressing, which all drivers of 64 bits have, kernels use the host's address.
  driver.check(driver.MemHostAlloc(&memory, sizeof *word, kHostPortable), "cuMemHostAlloc");
  word = static_cast<uint32_t *>(memory);
  set(false);
}

LoopStop::~LoopStop() { driver.MemFreeHost(word); }

bool LoopStop::isSet() const { return std::atomic_ref(*word).load() != 0; }

void LoopStop::set(bool stops) { std::atomic_ref(*word).store(stops ? 1 : 0); }

} // namespace spmd::cuda
