//===- MappingChooser.h - chooses the mapping of a kernel -------*- C++ -*-===//
//
// The choices that GpuMapping::choose makes, for one kernel: rows that several threads share are in
// ChooseRowGroups.cpp, the rest in ChooseMapping.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/gpu/GpuMapping.h"
#include "passes/gpu/KernelWeight.h"

#include "llvm/Support/MathExtras.h"

namespace spmdc {

inline constexpr int64_t kMaxThreads = 1024;
/// ThreadPerRow, GroupPerRow: threads wanted in a grid (1024 for each of an H100's multiprocessors).
inline constexpr int64_t kWantedThreads = 1 << 17;
/// Bytes of the widest memory instruction.
inline constexpr int64_t kVectorBytes = 16;
inline constexpr int64_t kMaxVector = 8;
/// The most elements that a thread loads ahead.
inline constexpr int64_t kMaxAhead = 16;
/// The shared memory that every kernel has without a request at launch, minus some for reductions.
inline constexpr int64_t kMaxSharedCache = 40 * 1024;

inline int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

inline int64_t byteSizeOf(mlir::Value value) {
  return spmd::byteSize(mlir::cast<ArrayType>(value.getType()).getDType());
}

class MappingChooser {
public:
  MappingChooser(const KernelBody &body, const KernelSchedule &schedule, const GpuLimits &limits)
      : body(body), schedule(schedule), limits(limits), weight(weightOf(body)), isHeavyBody(weight >= kHeavy),
        isSimpleBody(isSimple(body, schedule)) {}

  GpuMapping choose();

private:
  /// True if an element depends on the row, and there are several rows: elements that all rows read come from a cache.
  bool dependsOnRow(llvm::ArrayRef<IndexExpr> index) const;
  /// Returns how many adjacent values of `variable` (of `size` values) one thread computes, for accesses of up to 16
  /// bytes.
  int64_t chooseVector(const IndexExpr &variable, int64_t size) const;
  int64_t rowExtent() const;

  //===--- ChooseMapping.cpp -----------------------------------------------===//

  void chooseFlat();
  /// True if adjacent rows are adjacent in memory in an array that is read.
  bool readsRowsSideBySide() const;
  void chooseThreads();
  /// Returns false if tiles gain nothing.
  bool chooseTiles();
  /// Returns how many adjacent elements a thread of a square takes on either side, so that those of the narrowest type
  /// are a word.
  int64_t chooseTileVector() const;

  //===--- ChooseRowGroups.cpp ---------------------------------------------===//

  /// The values that stages of a row keep for later ones.
  struct KeptRow {
    int64_t longest = 0, elements = 0, bytes = 0; ///< The most elements of one value; those of all.
    int64_t sharedBytes = 0;                      ///< As many as they take at most in shared memory.
  };

  void chooseGroups();
  void chooseSharedCaches();
  bool hasScans() const;
  /// Returns the fewest threads for a row of this kernel, at most a warp.
  int64_t chooseFewestThreads() const;
  /// Returns what a block keeps if `blocks` blocks share a row.
  KeptRow keptOf(int64_t blocks) const;
  /// Returns for how many blocks of a cluster, of chosen threads and memory, a multiprocessor must have registers.
  int64_t chooseResidentBlocks() const;
  /// Returns how many blocks share a row.
  int64_t chooseClusterBlocks() const;
  /// Returns `wanted` threads of a block or more, so that its kept values fit into registers; if no number suffices,
  /// they are in shared memory.
  int64_t chooseThreadsThatKeep(int64_t wanted) const;

  const KernelBody &body;
  const KernelSchedule &schedule;
  GpuLimits limits;
  unsigned weight;
  bool isHeavyBody, isSimpleBody;
  GpuMapping mapping;
};

} // namespace spmdc
