//===- DriverTypes.h - the types of CUDA's driver API -----------*- C++ -*-===//
//
// Declared here, so that a machine without the CUDA toolkit can build a binary for GPUs. The names in comments are
// CUDA's own; numbers are those of its header and never change.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace spmd::cuda {

using Result = int;                         ///< CUresult; 0 is success.
using GpuHandle = int;                      ///< CUdevice.
using DevicePointer = uint64_t;             ///< CUdeviceptr.
using Context = struct CtxHandle *;         ///< CUcontext.
using Stream = struct StreamHandle *;       ///< CUstream.
using Event = struct EventHandle *;         ///< CUevent.
using Module = struct ModuleHandle *;       ///< CUmodule.
using Function = struct FunctionHandle *;   ///< CUfunction.
using MemoryPool = struct PoolHandle *;     ///< CUmemoryPool.
using Graph = struct GraphHandle *;         ///< CUgraph.
using GraphExec = struct GraphExecHandle *; ///< CUgraphExec.
using GraphNode = struct GraphNodeHandle *; ///< CUgraphNode.
using GraphCondition = uint64_t;            ///< CUgraphConditionalHandle.

struct Uuid {
  std::array<unsigned char, 16> bytes;
};

/// CUgraphEdgeData: only null pointers to it are used.
struct GraphEdge {
  std::array<unsigned char, 8> bytes;
};

/// CUgraphNodeParams of a node whose graph runs depending on a condition.
struct ConditionalNode {
  int nodeType = 13; ///< CU_GRAPH_NODE_TYPE_CONDITIONAL.
  int zeros[3] = {};
  GraphCondition condition = 0;
  int kind = 0; ///< kConditionIf or kConditionWhile.
  unsigned graphCount = 1;
  Graph *graphs = nullptr; ///< Set by the driver: the graphs that it runs, which belong to the node.
  Context context = nullptr;
  int64_t moreZeros[26] = {};
};
/// CUgraphConditionalNodeType: runs its graph if the condition is not 0; as long as it is not 0.
inline constexpr int kConditionIf = 0, kConditionWhile = 1;
/// CU_STREAM_CAPTURE_STATUS_ACTIVE.
inline constexpr int kCaptureActive = 1, kCaptureInvalid = 2;
/// CU_STREAM_SET_CAPTURE_DEPENDENCIES: what the stream captures next comes behind these nodes only.
inline constexpr unsigned kSetDependencies = 1;

inline constexpr Result kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100, kNotReady = 600;

/// CUdevice_attribute.
inline constexpr int kMultiprocessorCount = 16, kCapabilityMajor = 75, kCapabilityMinor = 76,
                     kMemoryPoolsSupported = 115;
/// CUmemPool_attribute.
inline constexpr int kPoolReleaseThreshold = 4;
/// CUfunction_attribute.
inline constexpr int kMaxDynamicSharedBytes = 8;
/// CUjit_option.
inline constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;
/// CU_STREAM_NON_BLOCKING: does not wait for the legacy default stream, which libraries of the process may use.
inline constexpr unsigned kStreamNonBlocking = 1;
/// CU_EVENT_DISABLE_TIMING.
inline constexpr unsigned kEventWithoutTime = 2;
/// CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads may allocate and copy meanwhile.
inline constexpr int kCaptureThreadLocal = 1;
/// CU_STREAM_CAPTURE_MODE_RELAXED: this thread may load modules while it captures a stream.
inline constexpr int kCaptureRelaxed = 2;
/// CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTALLOC_PORTABLE: pinned for all contexts.
inline constexpr unsigned kHostPortable = 1;

} // namespace spmd::cuda
