//===- Sort.h - stable sorts of lines on a GPU ------------------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/LibraryKernels.h"
#include "runtime/support/DType.h"

namespace spmd::cuda {

/// How elements of a dtype become unsigned keys (SortOrder in KernelSizes.h).
struct SortKeys {
  int bits = 32;         ///< 8, 16, 32 or 64: of an element.
  uint64_t order = 0;    ///< A kind, and flags.
  uint64_t infinity = 0; ///< The bits of +inf of a float type.
  static SortKeys of(DType dtype, bool isDescending);
};

/// Sorts `lines` lines of `size` elements, each by itself. One kernel where a line fits in a warp or in a block, a
/// radix sort of all lines at once where it does not.
class Sort {
public:
  /// `keyBits`: how many bits of a key are to be compared, from the lowest; all others are zero.
  Sort(const SortKeys &keys, int keyBits, int64_t lines, int64_t size);

  struct Arrays {
    DevicePointer elements = 0;
    int64_t elementInner = 1;  ///< Elements are [.., size, elementInner]; lines without gaps for 1.
    DevicePointer newKeys = 0; ///< Sorted keys, without gaps; 0: not wanted.
    DevicePointer positions = 0;
    int64_t positionInner = 1;
    int64_t positionBytes = 4; ///< 4 or 8.
  };
  /// The kernels it launches, loaded.
  void prepare(const LibraryKernels &kernels) const;
  int64_t getScratchBytes() const;
  /// `scratch` is aligned to 256 bytes.
  void run(const LibraryLauncher &launcher, const Arrays &arrays, DevicePointer scratch) const;

private:
  enum class Method { Warps, Lines, Radix };
  /// Parts of the scratch of a radix sort, as offsets.
  struct Layout {
    int64_t tickets, counts, trivial, states, cleared; ///< What lies before `cleared` is zero at the start.
    int64_t keys[2], positions[2], bytes;
  };
  Layout layOut() const;
  void runRadix(const LibraryLauncher &launcher, const Arrays &arrays, DevicePointer scratch) const;
  std::string nameModule() const;
  /// The kernel of a line in one block.
  std::string nameLineKernel() const;

  SortKeys keys;
  int64_t lines, size, passes, lineTiles;
  Method method;
};

} // namespace spmd::cuda
