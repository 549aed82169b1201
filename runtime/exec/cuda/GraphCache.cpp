//===- GraphCache.cpp - steps of a program as CUDA graphs -----------------===//

#include "runtime/exec/cuda/GraphCache.h"

#include <algorithm>

namespace spmd {
namespace {

/// Sets of addresses that are kept for the same steps: enough for loops that alternate between buffers, few enough that
/// programs whose addresses never repeat keep no graphs.
constexpr size_t kMostEntries = 8;

} // namespace

GraphCache::GraphCache(const cuda::Driver &driver, Check givenCheck) : driver(driver), check(std::move(givenCheck)) {
  check(driver.StreamCreate(&captureStream, cuda::kStreamNonBlocking), "cuStreamCreate");
}

GraphCache::~GraphCache() {
  for (auto &[step, list] : entries)
    for (Entry &entry : list)
      drop(entry);
  if (captureStream)
    driver.StreamDestroy(captureStream);
}

void GraphCache::drop(Entry &entry) {
  if (entry.graph)
    driver.GraphExecDestroy(entry.graph);
  entry.graph = nullptr;
}

cuda::GraphExec GraphCache::capture(const std::function<void(cuda::Stream)> &queue) {
  cuda::Graph graph = nullptr;
  // Relaxed: this thread does nothing but queue the steps, and a library may allocate when it is called first.
  check(driver.StreamBeginCapture(captureStream, cuda::kCaptureRelaxed), "cuStreamBeginCapture");
  try {
    queue(captureStream);
  } catch (...) {
    if (captureStream && driver.StreamEndCapture(captureStream, &graph) == cuda::kSuccess)
      driver.GraphDestroy(graph);
    throw;
  }
  check(driver.StreamEndCapture(captureStream, &graph), "cuStreamEndCapture");
  cuda::GraphExec result = nullptr;
  cuda::Result status = driver.GraphInstantiate(&result, graph, 0);
  driver.GraphDestroy(graph);
  check(status, "cuGraphInstantiate");
  return result;
}

void GraphCache::run(const std::vector<PreparedStep *> &steps, const std::vector<void *> &addresses,
                     cuda::Stream stream, const std::function<void(cuda::Stream)> &queue) {
  if (!runAsGraph(steps, addresses, stream, false, queue))
    queue(stream);
}

bool GraphCache::runAsGraph(const std::vector<PreparedStep *> &steps, const std::vector<void *> &addresses,
                            cuda::Stream stream, bool atOnce, const std::function<void(cuda::Stream)> &queue) {
  if (!captureStream)
    return false;
  std::vector<Entry> &list = entries[steps.front()];
  auto known = std::find_if(list.begin(), list.end(), [&](const Entry &entry) { return entry.addresses == addresses; });
  bool isNew = known == list.end();
  if (isNew) {
    if (list.size() == kMostEntries) {
      // Addresses that never repeat: a graph for each set would cost more than it saves.
      atOnce &= std::any_of(list.begin(), list.end(), [](const Entry &entry) { return entry.isRepeated; });
      auto oldest = std::min_element(list.begin(), list.end(),
                                     [](const Entry &a, const Entry &b) { return a.lastUse < b.lastUse; });
      drop(*oldest);
      list.erase(oldest);
    }
    list.push_back({addresses});
    known = std::prev(list.end());
  }
  known->lastUse = ++uses;
  known->isRepeated = !isNew;
  if (isNew && !atOnce)
    return false;
  if (!known->graph)
    known->graph = capture(queue);
  check(driver.GraphLaunch(known->graph, stream), "cuGraphLaunch");
  return true;
}

} // namespace spmd
