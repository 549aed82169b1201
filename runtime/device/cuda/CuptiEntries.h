//===- CuptiEntries.h - the functions and records of CUPTI ------*- C++ -*-===//
//
// Declared here, so that the build does not need the CUDA toolkit. Names in comments are those of cupti_activity.h. A
// record grows at its end from version to version; the structures below end behind the last field that is read, and
// their offsets are those of CUPTI 12.0 to 13.5. tests/runtime/device/cuda/CuptiEntriesTest.cpp compares them with the
// toolkit's header where it is installed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/DriverTypes.h"

#include <string>

namespace spmd::cuda {

/// CUpti_ActivityKind.
inline constexpr uint32_t kCuptiMemcpy = 1, kCuptiMemset = 2, kCuptiDriver = 4, kCuptiRuntime = 5, kCuptiKernel = 10,
                          kCuptiPeerCopy = 22, kCuptiExternal = 39;
/// CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0.
inline constexpr uint32_t kCuptiCustom = 3;
/// CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER: each thread has buffers of its own (from CUPTI 12.3 on).
inline constexpr int kCuptiBuffersByThread = 9;
/// CUPTI_ACTIVITY_FLAG_FLUSH_FORCED: delivers buffers with incomplete records, too.
inline constexpr uint32_t kCuptiForced = 1;
/// CUptiResult.
inline constexpr int kCuptiSuccess = 0, kCuptiNoMoreRecords = 12, kCuptiIncompleteRecord = 21, kCuptiTakenByOther = 39;

/// CUpti_ActivityKernel8 to 13.
struct CuptiKernel {
  uint32_t kind;
  uint32_t skipped[3];
  uint64_t start, end; ///< Nanoseconds; 0: unknown.
  uint32_t skippedToo[2];
  uint32_t device, context, stream;
  uint32_t skippedAsWell[10];
  uint32_t correlation;
};

/// CUpti_ActivityMemcpy5 to 7 and CUpti_ActivityMemset4 and 5.
struct CuptiCopy {
  uint32_t kind;
  uint32_t skipped[3];
  uint64_t start, end;
  uint32_t device, context, stream;
  uint32_t correlation;
};

/// CUpti_ActivityMemcpyPtoP4: a copy between two GPUs.
struct CuptiPeerCopy {
  uint32_t kind;
  uint32_t skipped[3];
  uint64_t start, end;
  uint32_t device, context, stream;
  uint32_t skippedToo[4];
  uint32_t correlation;
};

/// CUpti_ActivityExternalCorrelation: a call that a thread made in an external region.
struct CuptiExternal {
  uint32_t kind;
  uint32_t externalKind;
  uint64_t externalId;
  uint32_t correlation;
  uint32_t skipped;
};

/// The functions that profiles need, and the types of their parameters.
struct CuptiEntries {
  using Status = int; ///< CUptiResult; 0 is success.
  using RequestBuffer = void (*)(uint8_t **buffer, size_t *bytes, size_t *mostRecords);
  using CompleteBuffer = void (*)(Context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t validBytes);

  Status (*getVersion)(uint32_t *) = nullptr;
  Status (*getResultString)(Status, const char **) = nullptr;
  Status (*getTimestamp)(uint64_t *) = nullptr;
  Status (*getContextId)(Context, uint32_t *) = nullptr;
  Status (*getStreamId)(Context, Stream, uint8_t perThread, uint32_t *) = nullptr;
  Status (*setAttribute)(int attribute, size_t *bytes, void *value) = nullptr;
  Status (*registerCallbacks)(RequestBuffer, CompleteBuffer) = nullptr;
  Status (*enable)(uint32_t kind) = nullptr;
  Status (*disable)(uint32_t kind) = nullptr;
  Status (*flushAll)(uint32_t flags) = nullptr;
  Status (*getNextRecord)(uint8_t *buffer, size_t validBytes, void **record) = nullptr;
  Status (*countDropped)(Context, uint32_t stream, size_t *) = nullptr;
  Status (*push)(uint32_t externalKind, uint64_t id) = nullptr;
  Status (*pop)(uint32_t externalKind, uint64_t *last) = nullptr;

  /// Finds the functions in a loaded library. Returns an empty text, or the name of a function that it lacks.
  std::string resolve(void *library);
  /// `cuptiActivityEnable: CUPTI_ERROR_NOT_INITIALIZED`, or the reason that this status has here.
  std::string describe(const char *function, Status status) const;
};

} // namespace spmd::cuda
