//===- GraphCache.h - steps of a program as CUDA graphs ---------*- C++ -*-===//
//
// Queueing a kernel costs the host 2 to 4 us; a graph of a hundred kernels costs as much as a few kernels. A graph
// contains the addresses of arguments and results, so there is one for each set of addresses that repeats: usually one,
// or two that alternate in a training loop.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"
#include "runtime/exec/DeviceProgram.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace spmd {

/// For the thread of one device.
class GraphCache {
public:
  /// Throws if a driver call failed.
  using Check = std::function<void(cuda::Result result, const char *what)>;
  GraphCache(const cuda::Driver &driver, Check check);
  ~GraphCache();
  GraphCache(const GraphCache &) = delete;
  GraphCache &operator=(const GraphCache &) = delete;

  /// Queues on `stream` the work of these steps with these addresses, which `queue(s)` queues on a stream s. The first
  /// time a set of addresses occurs, the work is queued directly; when the set repeats, as a graph.
  void run(const std::vector<PreparedStep *> &steps, const std::vector<void *> &addresses, cuda::Stream stream,
           const std::function<void(cuda::Stream)> &queue);

  /// The same for work that only a graph can do: returns false, having done nothing, if the set occurs for the first
  /// time, unless a graph is wanted `atOnce` and sets have not proved to be new each time. If this throws, nothing of
  /// the work runs.
  bool runAsGraph(const std::vector<PreparedStep *> &steps, const std::vector<void *> &addresses, cuda::Stream stream,
                  bool atOnce, const std::function<void(cuda::Stream)> &queue);

  /// Called by `queue`, which then throws: what is captured now is never ended, and there are no more graphs.
  void abandon() { captureStream = nullptr; }

private:
  struct Entry {
    std::vector<void *> addresses;
    cuda::GraphExec graph = nullptr; ///< Null: the set has run without a graph.
    uint64_t lastUse = 0;
    bool isRepeated = false; ///< The set occurred more than once.
  };
  cuda::GraphExec capture(const std::function<void(cuda::Stream)> &queue);
  void drop(Entry &entry);

  const cuda::Driver &driver;
  const Check check;
  /// Captures graphs. No work runs on it, so that work that other threads queue for the device does not become part of
  /// a graph.
  cuda::Stream captureStream = nullptr;
  std::map<const PreparedStep *, std::vector<Entry>> entries; ///< By the first step.
  uint64_t uses = 0;
};

} // namespace spmd
