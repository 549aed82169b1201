//===- FakeCuptiEntries.h - CUPTI's functions, by name ----------*- C++ -*-===//
#pragma once

#include "tests/runtime/device/cuda/doubles/FakeCupti.h"

namespace spmd::cuda {

/// The functions of CuptiEntries.h for the current FakeCupti.
struct FakeCuptiEntries {
  /// A kind that nothing asked for, and one of which the record is longer than its buffer.
  static constexpr uint32_t kUnknown = 77, kDamaged = 78;
  /// The time of work that is not done.
  static constexpr uint64_t kUnwritten = 0xeeeeeeeeeeeeeeee;

  /// Returns the bytes of a record of this kind.
  static size_t sizeOf(uint32_t kind);
  /// Returns the time, in nanoseconds of CUPTI's clock.
  static uint64_t now();
  static CuptiEntries list();

  static inline FakeCupti *current = nullptr;

private:
  static int setAttribute(int attribute, size_t *bytes, void *value);
  static int registerCallbacks(CuptiEntries::RequestBuffer request, CuptiEntries::CompleteBuffer deliver);
  static int enable(uint32_t kind);
  static int disable(uint32_t kind);
  static int countDropped(Context context, uint32_t stream, size_t *count);
  static int push(uint32_t kind, uint64_t id);
  static int pop(uint32_t kind, uint64_t *last);
  static int getStreamId(Context context, Stream stream, uint8_t perThread, uint32_t *id);
  static int getNextRecord(uint8_t *buffer, size_t validBytes, void **record);
};

} // namespace spmd::cuda
