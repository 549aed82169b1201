//===- GpuMatricesHelper.h - matrix instructions on this machine -*- C++ -*-===//
//
// The instructions of a warp on matrices, and asynchronous copies, by the tables of NVIDIA's PTX ISA. Registers of all
// lanes are in arrays of words: of ldmatrix.x4 the address (two words) and four results; of mma.m16n8k16 and
// m16n8k32 the operands A (4 words), B (2), C (4) and then four results.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/emulator/GpuMemoryHelper.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spmdc {

/// ldmatrix.x4: four matrices of 8 x 8 elements of 16 bits; the address of row r of matrix m is that of lane 8 m + r.
void loadMatrices(const std::vector<uint32_t *> &lanes, bool isTransposed);
/// mma.m16n8k16 with sums in f32; here each sum is computed in double, and rounded once.
void multiplyMatrices(const std::vector<uint32_t *> &lanes, bool isBf16);
/// mma.m16n8k32 of bytes, with sums of 32 bits that wrap.
void multiplyBytes(const std::vector<uint32_t *> &lanes, bool isSigned);

/// A product of wgmma.m64nNk16 as one warp sees it. Words of a lane: the left factor (4 words in registers, or the two
/// of a descriptor), the right one's descriptor, and N / 2 sums, which become the results.
struct WarpgroupProduct {
  int columns = 0;
  bool isBf16 = false, isLeftInRegisters = false, isRightTransposed = false;

  static constexpr int kLeftWords = 4, kRightWords = 2;
  static WarpgroupProduct decode(uint32_t flags) {
    return {static_cast<int>(flags & 0xfff), (flags & 0x1000) != 0, (flags & 0x2000) != 0, (flags & 0x4000) != 0};
  }
  uint32_t encode() const {
    return static_cast<uint32_t>(columns) | (isBf16 ? 0x1000 : 0) | (isLeftInRegisters ? 0x2000 : 0) |
           (isRightTransposed ? 0x4000 : 0);
  }
  /// `warp`: the number of the warp in its warpgroup. Returns false if an address is beyond the window of shared
  /// memory.
  bool run(const std::vector<uint32_t *> &lanes, const GpuMemory &memory, int warp) const;
  /// The addresses in the window of all that it reads, each of 16 bytes. `words`: those of a lane.
  std::vector<uint64_t> findReads(const uint32_t *words, const GpuMemory &memory, int warp) const;
  static constexpr uint32_t kReadBytes = 16;
  /// Returns what is wrong with the descriptor of a factor in shared memory, or null.
  static const char *findProblem(uint64_t descriptor);
};

inline constexpr int kMatrixAddressWords = 2, kMatrixOperandWords = 10, kMatrixResultWords = 4;

/// A copy of 16 bytes that has begun (cp.async). Until it is finished, the target holds NaNs, whatever it held before.
struct GpuCopy {
  static constexpr uint32_t kBytes = 16;
  void *target = nullptr;
  const void *source = nullptr;
  uint32_t bytes = 0; ///< The rest of the 16 bytes becomes zero.

  static GpuCopy start(void *target, const void *source, uint32_t bytes);
  void finish() const;
};

} // namespace spmdc
