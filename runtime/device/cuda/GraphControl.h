//===- GraphControl.h - loops and branches inside of graphs -----*- C++ -*-===//
//
// A `while`, `for` or `if` becomes a conditional node of a CUDA graph: the GPU itself decides what runs next, where the
// host would wait for each predicate. See "CUDA Graphs: Conditional Graph Nodes" of the CUDA C++ Programming Guide.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Gpu.h"
#include "runtime/device/cuda/LibraryKernels.h"
#include "runtime/device/cuda/LoopStop.h"

#include <deque>
#include <functional>

namespace spmd::cuda {

/// Adds loops and branches to what a stream captures. For the thread of one device, with its GPU current; the GPU and
/// the kernels outlive it. Members throw spmd::Error.
class GraphControl {
public:
  /// Queues steps on a stream.
  using Queue = std::function<void(Stream)>;

  /// Loads the kernels that set conditions. `stop` ends all loops. `looked`: 8 bytes of device memory that are 0 at
  /// first and that nothing else uses: the time when a loop has looked at `stop` last.
  GraphControl(const Gpu &gpu, const LibraryKernels &kernels, const LoopStop &stop, DevicePointer looked);
  ~GraphControl();
  GraphControl(const GraphControl &) = delete;
  GraphControl &operator=(const GraphControl &) = delete;

  /// Adds to what `stream` captures: `thenSteps`, which run if the byte at `predicate` is not 0, and `elseSteps`, which
  /// run if it is. An empty function has no steps.
  void addIf(Stream stream, DevicePointer predicate, const Queue &thenSteps, const Queue &elseSteps);
  /// `condition` writes the predicate; `body` runs as long as it is not 0.
  void addWhile(Stream stream, DevicePointer predicate, const Queue &condition, const Queue &body);
  /// `body` runs for each number in [lower, upper). `number` is an i32 in memory that nothing else uses; `counter` (0:
  /// none) gets the same number, before an iteration only.
  void addFor(Stream stream, DevicePointer number, DevicePointer counter, int64_t lower, int64_t upper,
              const Queue &body);

  /// Whether CUDA has invalidated what an inner stream captured: the driver then crashes when that capture ends, or the
  /// one around it, or when one of their streams is destroyed (NVIDIA/cuda-python, issue 2918).
  bool isBroken() const { return broken; }

private:
  GraphCondition createCondition(Stream stream) const;
  /// Adds a node of this kind, whose graph has what `queue` queues.
  void addNode(Stream stream, int kind, GraphCondition condition, const Queue &queue);
  Graph getGraph(Stream stream, const GraphNode **dependencies = nullptr, size_t *count = nullptr) const;
  void setWhile(Stream stream, GraphCondition condition, DevicePointer predicate) const;
  void setFor(Stream stream, GraphCondition condition, DevicePointer number, DevicePointer counter, bool isFirst,
              int64_t lower, int64_t upper) const;

  const Gpu &gpu;
  const Driver &driver;
  const LibraryKernels &kernels;
  const DevicePointer stop, looked;
  /// One for each depth of nested graphs, because a stream captures one graph at a time.
  std::deque<Stream> streams;
  bool broken = false;
  size_t depth = 0; ///< Graphs of nodes that are being captured.
};

} // namespace spmd::cuda
