//===- GpuClocksHelper.cpp - which accesses come before others ------------===//

#include "tests/passes/gpu/emulator/GpuClocksHelper.h"

#include <algorithm>

namespace spmdc {

void GpuClock::join(const GpuClock &other) {
  for (const auto &[block, times] : other.blocks) {
    std::vector<uint32_t> &mine = blocks[block];
    mine.resize(blockAgents);
    for (size_t i = 0; i < times.size(); ++i)
      mine[i] = std::max(mine[i], times[i]);
  }
}

void GpuClock::raise(GpuAgent agent, uint32_t time) {
  std::vector<uint32_t> &times = blocks[(agent - 1) / blockAgents];
  times.resize(blockAgents);
  uint32_t &known = times[(agent - 1) % blockAgents];
  known = std::max(known, time);
}

static uint64_t makeVersion() {
  static thread_local uint64_t last = 0;
  return ++last;
}

void GpuKnowledge::join(const GpuKnowledge &other) {
  known.join(other.known);
  published.join(other.published);
  version = makeVersion();
}

void GpuKnowledge::join(const GpuView &view) {
  if (view.known && view.known != lastKnown)
    known.join(*view.known);
  if (view.published && view.published != lastPublished)
    published.join(*view.published);
  lastKnown = view.known;
  lastPublished = view.published;
  for (GpuView::Own own : {view.self, view.copies, view.products})
    if (own.time > 0)
      known.raise(own.agent, own.time);
  version = makeVersion();
}

} // namespace spmdc
