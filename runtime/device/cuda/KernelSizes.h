//===- KernelSizes.h - sizes for kernels and launches -----------*- C++ -*-===//
//
// Included by the kernels (kernels/*.cu) and by the host code that launches them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace spmd::cuda {

/// Threads of a block of every kernel; also the number of values of a digit, so that each thread has one value.
inline constexpr uint32_t kBlockThreads = 256;

/// update_slice of a range: units that a thread loads before it stores any.
inline constexpr uint32_t kRangeUnits = 4;

/// Bits of a radix sort's digit.
inline constexpr uint32_t kDigitBits = 8, kDigitValues = 1 << kDigitBits;

/// Elements that one thread of a radix sort holds: 16 keys and 16 positions fit in its registers, and a block's
/// elements (16 KiB of keys, 16 KiB of positions) in shared memory beside those of other blocks. Keys of 64 bits take
/// as much.
constexpr int sortItems(int keyBits) { return keyBits == 64 ? 8 : 16; }

/// Longest lines that are sorted in registers with one thread per element: a warp.
inline constexpr int64_t kWarpLine = 32;

/// Maps elements to unsigned keys with the requested order: a kind, and flags.
enum SortOrder : uint64_t {
  kUnsignedKeys = 0,
  kSignedKeys = 1,
  kBoolKeys = 2,
  kFloatKeys = 3,
  kKindOfKeys = 3,
  /// Orders zeros and NaN by their sign; otherwise zeros are equal, and all NaN are equal and last.
  kTotalOrder = 4,
  kDescending = 8,
};

/// scatter_add: if more updates than this go to one row of the result, a block adds them up instead of a thread. At 64,
/// a thread takes a few microseconds.
inline constexpr int64_t kLongRun = 64;
/// A block looks for long runs at so many positions, kLongRun apart: few blocks start in vain, and none has more to add
/// than takes about 15 microseconds, unless a run is longer.
inline constexpr uint32_t kRunPlaces = 64;
/// Up to so many updates, each thread compares its index with all others instead of sorting them.
inline constexpr int64_t kFewUpdates = 16;
/// Columns of the result that one block adds up, and values of each kind that it holds (in two buffers).
inline constexpr uint32_t kRunColumns = 32, kRunStage = 2048;

/// update_slice: greatest rank after merging dimensions that the window covers in full size.
inline constexpr uint32_t kSliceRank = 8;

/// Rows and columns of the result that a block of a matrix product computes. The larger tile reads half as much memory,
/// and needs twice the registers.
inline constexpr int64_t kSmallTile = 64, kLargeTile = 128;
/// With at most so many rows or columns a tile would be nearly empty; the other side is then read once, in place.
inline constexpr int64_t kFewRows = 4;

} // namespace spmd::cuda
