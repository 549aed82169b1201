//===- GraphCache.h - steps of a program as CUDA graphs ---------*- C++ -*-===//
//
// Queueing a kernel costs the host 2 to 4 us; a graph of a hundred costs as much as a few. A graph holds the addresses
// of arguments and results, so there is one for each set of addresses that comes back: mostly one, or two that take
// turns in a training loop.
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
  /// Throws where a call of the driver has failed.
  using Check = std::function<void(cuda::Result result, const char *what)>;
  GraphCache(const cuda::Driver &driver, Check check);
  ~GraphCache();
  GraphCache(const GraphCache &) = delete;
  GraphCache &operator=(const GraphCache &) = delete;

  /// Queues what `queue(s)` queues on a stream s, for these steps with these addresses, on `stream`. The first time
  /// that addresses are seen, it is queued as it is; when they come back, as a graph.
  void run(const std::vector<PreparedStep *> &steps, const std::vector<void *> &addresses, cuda::Stream stream,
           const std::function<void(cuda::Stream)> &queue);

private:
  struct Entry {
    std::vector<void *> addresses;
    cuda::GraphExec graph = nullptr; ///< Null: seen once.
    uint64_t lastUse = 0;
  };
  cuda::GraphExec capture(const std::function<void(cuda::Stream)> &queue);
  void drop(Entry &entry);

  const cuda::Driver &driver;
  const Check check;
  /// Nothing runs on it: what other threads queue for the device meanwhile does not become part of a graph.
  cuda::Stream captureStream = nullptr;
  std::map<const PreparedStep *, std::vector<Entry>> entries; ///< By the first step.
  uint64_t uses = 0;
};

} // namespace spmd
