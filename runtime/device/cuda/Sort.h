//===- Sort.h - stable sorts of lines on a GPU ------------------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/LibraryKernels.h"
#include "runtime/support/DType.h"

namespace spmd::cuda {

/// Maps elements of a dtype to unsigned keys (SortOrder in KernelSizes.h).
struct SortKeys {
  int bits = 32;         ///< Bits of an element: 8, 16, 32 or 64.
  uint64_t order = 0;    ///< A kind, and flags.
  uint64_t infinity = 0; ///< The bits of +inf of a float type.
  static SortKeys of(DType dtype, bool isDescending);
};

/// Sorts `lines` lines of `size` elements, each independently: with one kernel if a line fits in a warp or in a block,
/// else with a radix sort of all lines at once.
class Sort {
public:
  enum class Result { Positions, Values };
  /// `keyBits`: the number of low bits of a key that are compared; all other bits are zero.
  Sort(const SortKeys &keys, int keyBits, int64_t lines, int64_t size, Result result);

  struct Arrays {
    DevicePointer elements = 0;
    int64_t elementInner = 1; ///< Elements are [.., size, elementInner]; 1: lines are contiguous.
    DevicePointer result = 0; ///< Positions, or values.
    int64_t resultInner = 1;
    int64_t positionBytes = 4; ///< 4 or 8.
    DevicePointer newKeys = 0; ///< With positions: the sorted keys, as the positions; 0: not needed.
  };
  /// Loads the kernels that it launches.
  void prepare(const LibraryKernels &kernels) const;
  int64_t getScratchBytes() const;
  /// `scratch` is aligned to 256 bytes.
  void run(const LibraryLauncher &launcher, const Arrays &arrays, DevicePointer scratch) const;

private:
  enum class Method { Warps, Lines, Radix };
  /// Offsets of the parts of a radix sort's scratch memory.
  struct Layout {
    int64_t tickets, counts, trivial, states, cleared; ///< Memory before `cleared` must be zero at the start.
    int64_t keys[2], positions[2], bytes;
  };
  Layout layOut() const;
  void runRadix(const LibraryLauncher &launcher, const Arrays &arrays, DevicePointer scratch) const;
  std::string nameModule(const char *source) const { return std::string(source) + "_" + std::to_string(keys.bits); }
  /// Name of the kernel that sorts a line in one block.
  std::string nameLineKernel() const;

  SortKeys keys;
  int64_t lines, size, passes, lineTiles;
  Result result;
  Method method;
};

} // namespace spmd::cuda
