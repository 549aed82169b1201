//===- KernelSizes.h - what kernels and their launches agree on -*- C++ -*-===//
//
// Included by the kernels (kernels/*.cu) and by the host code that launches them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace spmd::cuda {

/// Threads of a block of every kernel; also the number of values of a digit, so that a thread has one of each.
inline constexpr uint32_t kBlockThreads = 256;

/// A radix sort goes by digits of 8 bits.
inline constexpr uint32_t kDigitBits = 8, kDigitValues = 1 << kDigitBits;

/// Elements that one thread of a radix sort holds: 16 keys and 16 positions fit in its registers, and a block's
/// elements (16 KiB of keys, 16 KiB of positions) in shared memory beside those of other blocks. Keys of 64 bits take
/// as much.
constexpr int sortItems(int keyBits) { return keyBits == 64 ? 8 : 16; }

/// Longest lines that a thread a element sorts in registers: a warp.
inline constexpr int64_t kWarpLine = 32;

/// How elements become unsigned keys whose order is the wanted one: a kind, and flags.
enum SortOrder : uint64_t {
  kUnsignedKeys = 0,
  kSignedKeys = 1,
  kBoolKeys = 2,
  kFloatKeys = 3,
  kKindOfKeys = 3,
  /// Zeros and NaN by their sign; otherwise zeros are the same, and all NaN are the same and last.
  kTotalOrder = 4,
  kDescending = 8,
};

/// scatter_add: updates of one row of the result beyond which a block adds them up instead of a thread. At 64, a
/// thread's time is a few microseconds.
inline constexpr int64_t kLongRun = 64;
/// A block looks for long runs at so many places, kLongRun apart: few blocks start in vain, and none has more to add
/// than takes some 15 microseconds, unless a run is longer.
inline constexpr uint32_t kRunPlaces = 64;
/// Up to so many updates, each thread compares its index with all others instead of sorting them.
inline constexpr int64_t kFewUpdates = 16;
/// Columns of the result that one block adds up, and values that it holds of each kind (two buffers of them).
inline constexpr uint32_t kRunColumns = 32, kRunStage = 2048;

/// update_slice: dimensions after those that are written at full size are merged.
inline constexpr uint32_t kSliceRank = 8;

/// Rows and columns of the result that a block of a matrix product computes. The larger tile reads half as much, and
/// needs twice the registers.
inline constexpr int64_t kSmallTile = 64, kLargeTile = 128;
/// With up to so many rows or columns a tile would be nearly empty, and the other side is read once, as it lies.
inline constexpr int64_t kFewRows = 4;

} // namespace spmd::cuda
