//===- FakeEntries.h - the driver's functions, by name ----------*- C++ -*-===//
#pragma once

#include "tests/runtime/device/cuda/doubles/FakeDriver.h"

namespace spmd::cuda {

/// The functions of DriverEntries.def for the current FakeDriver, called with the lock held.
struct FakeEntries {
  /// Wraps the functions with the common part of all calls: the lock, the count, failures, and the context.
  static DriverEntries begin(FakeDriver &driver);
  static void end();

#define SPMD_CUDA_ENTRY(name, symbol, ...) static Result name(__VA_ARGS__);
#include "runtime/device/cuda/DriverEntries.def"
#undef SPMD_CUDA_ENTRY

  /// GPU of the calling thread's context; -1: it has none.
  static int currentGpu();

  /// The first byte and the number of bytes of each array that some work accesses.
  using Access = std::vector<std::pair<const void *, size_t>>;
  /// Queues what a library does on a stream. Returns false if the stream or an array belongs to another GPU.
  static bool queueWork(Stream stream, Access access, std::function<void()> work);

private:
  static FakeDriver *fake;
  static thread_local int captureMode;

  template <size_t index, auto function> struct Call;
  static Result check(const char *name);
  /// Returns the stream if the current context may queue on it; else null.
  static FakeStream *target(Stream stream);
  /// Begins to capture to this graph.
  static Result beginCapture(Stream stream, int mode, std::shared_ptr<FakeGraph> graph, bool isBody);
  /// Returns the graph that a stream captures, by its handle; null if none does.
  static FakeGraph *findCaptured(Graph graph);
  static bool mayCopy(const FakeStream &stream, DevicePointer pointer, size_t bytes);
  /// Queues a function on these bytes, with CUPTI's kind of its record.
  static Result fill(uint32_t kind, Stream stream, DevicePointer target, size_t bytes,
                     std::function<void(char *)> write);
  /// If this thread captures a stream, a call that a graph cannot contain invalidates the capture.
  static bool refusesForCapture();
};

} // namespace spmd::cuda
