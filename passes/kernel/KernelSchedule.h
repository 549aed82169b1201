//===- KernelSchedule.h - the loops of a kernel -----------------*- C++ -*-===//
//
// The loops of a fused group of array operations, before any backend: a parallel range of rows, and for each row a
// sequence of stages (of the kernel, not of the pipeline: passes/pipeline/Stage.h). A stage runs over an inner domain;
// it reduces values over it, stores outputs, or both. Every other value of the group is computed where it is used, at
// an index that is known symbolically; later stages of the same row use the value of a reduction.
//
// Example: softmax of f32[64, 1000] along the last dimension
//     rows [64], lanes Inner
//     stage 0: domain [1000]  reduce max x
//     stage 1: domain [1000]  reduce sum e, keep e = exp(x - max)
//     stage 2: domain [1000]  store e / sum
//
// `lanes` is the direction in which neighbouring elements are contiguous, so the direction of a vector or a warp:
//   Inner  the innermost dimension of the domain (a row is contiguous): CPU: vectors within a row; GPU: a block a row.
//   Rows   the last row dimension (consecutive rows are contiguous, the domain is walked in sequence): element-wise
//          work, reductions over leading dimensions. CPU: blocks of rows side by side; GPU: a thread a row.
//   Tiles  outputs and inputs disagree (transposes): as Rows, but `tiledRow` is the row dimension in which an input is
//          contiguous. The parallel range counts strips of getTileRows() of it; a strip walks the last row dimension in
//          blocks.
//
// A schedule is a function of the operations alone. The pass that forms kernels asks whether one exists, and each
// backend computes it again from the outlined kernel.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"
#include "passes/kernel/GpuLimits.h"
#include "passes/kernel/IndexMaps.h"

#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <optional>
#include <vector>

namespace spmdc {

/// A set of operations seen as one kernel. Operands defined outside of the set are read from memory.
struct KernelBody {
  llvm::SmallVector<mlir::Value> outputs;
  llvm::DenseSet<mlir::Operation *> ops;

  bool contains(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    return op && ops.contains(op);
  }
  static KernelBody of(plan::KernelOp kernel);
};

/// The limits of what a backend can keep of a row from one stage to the next, and the cost of computing on it.
struct ScheduleTraits {
  /// The most elements of a computed value that are kept for a row (64 KiB of f32, which a core's cache holds); for
  /// longer rows a stage computes the value again.
  int64_t computedExtent = 16384;
  /// The most bytes of a row that are kept, counting computed values and those that several stages read from memory;
  /// each value is rounded up to `loadedUnit`. 0: values read from memory are not kept, since the cache holds them.
  int64_t loadedBytes = 0, loadedUnit = 1;
  /// Blocks that may share a row without scans, which then keep this many times `loadedBytes` in as many units.
  int64_t sharingBlocks = 1;
  /// Cost of an operation relative to memory accesses, in units of OpCost.h.
  double computeCost = 1;
  /// One block alone computes at 1 / `slowdownAlone` of the rate of a kernel that occupies the machine. Only work
  /// beyond `workOfOneBlock`, which one block does in the time of a launch, is slowed down. 1: a core alone runs at
  /// full speed.
  double slowdownAlone = 1, workOfOneBlock = 0;
  /// The vectors of a last dimension of 8 to 15 elements are short, but not gathered: it is not joined to the one
  /// before if elements would be gathered from all arrays otherwise. A GPU's threads read elements from anywhere.
  bool avoidsGathers = true;

  /// Traits of a GPU. Registers of threads keep the computed elements of a row.
  static ScheduleTraits forGpu(const GpuLimits &limits);
};

struct KernelSchedule {
  enum class Lanes { Inner, Rows, Tiles };

  /// Inner loops: one variable for each dimension (a constant 0 where the size is 1).
  struct Domain {
    llvm::SmallVector<int64_t> shape;
    Index vars;
    int64_t getExtent() const;
  };
  /// Reduces the operand of `op` at this index over the stage's domain: one value for each row.
  struct Reduction {
    ReduceOp op;
    Index operandIndex;
  };
  /// Scans along the dimension of `op` (cumulative), which is the stage's whole domain: in sequence, each value stored.
  struct Scan {
    CumulativeOp op;
    Index operandIndex;
    unsigned output = 0;
  };
  /// An iteration may store several elements of an output: one of each array that it joins element by element.
  struct Store {
    unsigned output = 0; ///< Index into KernelBody::outputs.
    Index index;
  };
  /// A value that one stage computes and keeps, and later stages of the row read at the same index.
  struct StageCache {
    mlir::Value value;
    Index index;
  };
  /// A read of an array in memory by a stage.
  struct Load {
    mlir::Value value;
    Index index;
    unsigned stage = 0;
    bool isGuarded = false; ///< Some condition guards the read: the index may be out of range where it is false.
  };
  struct Stage {
    unsigned domain = 0;
    llvm::SmallVector<Reduction> reductions;
    llvm::SmallVector<Scan> scans;
    llvm::SmallVector<Store> stores;
    llvm::SmallVector<StageCache> stageCaches;
  };

  std::shared_ptr<KernelIndexing> indexing;
  Lanes lanes = Lanes::Rows;
  llvm::SmallVector<int64_t> rowShape; ///< The parallel range, row-major; its product is the extent.
  Index rowVars;
  int64_t tiledRow = -1; ///< Of Lanes::Tiles: index into rowShape.
  std::vector<Domain> domains;
  std::vector<Stage> stages;
  std::vector<Load> loads;
  int64_t grain = 1; ///< Least number of iterations that is worth another thread.
  double work = 0;   ///< Estimated cost of the kernel; the unit is about one vectorised addition of an element.

  int64_t getExtent() const;
  /// Lanes::Tiles: an iteration of the parallel range covers this many elements of the tiled row dimension, and all of
  /// the last one.
  int64_t getTileRows() const;
  /// Position in the parallel range, from the row variables.
  IndexExpr getRow() const;

  /// True if `output` may have the memory of `input`: each element is read only where it is written, and not in a later
  /// stage. This suffices for code that runs a row's iterations in sequence, and reads all operands of an iteration of
  /// a stage before it writes. A backend with other code adds its own conditions (passes/kernel/Overwrites.h).
  bool canOverwrite(mlir::Value input, unsigned output, mlir::Value outputValue) const;
  /// True if each row of the parallel range writes the row of the output, seen as a matrix of as many rows. Rows of a
  /// reduction over leading dimensions may be columns of the output.
  bool writesOwnRow(unsigned output, mlir::Value outputValue) const;

  /// True if the kernel can be the epilogue of a product: each row of the parallel range reads the row of `product` and
  /// replaces it by that of its only output, in the same memory, while other rows are not computed yet.
  bool rewritesRows(mlir::Value product, mlir::Value outputValue) const {
    return canOverwrite(product, 0, outputValue) && writesOwnRow(0, outputValue);
  }

  /// Computes the loops of these operations; fails if they cannot be one kernel. With `rows`, the parallel range is
  /// exactly that many leading rows of the outputs (epilogues of matrix products). `isTrial` skips the steps that only
  /// code generation needs: merging of dimensions, and tiles.
  static mlir::FailureOr<KernelSchedule> compute(const KernelBody &body, std::optional<int64_t> rows = {},
                                                 bool isTrial = false, const ScheduleTraits &traits = {});
  /// The same for an outlined kernel; emits an error on failure.
  static mlir::FailureOr<KernelSchedule> compute(plan::KernelOp kernel, const ScheduleTraits &traits = {});
  /// Returns the schedule as text, for tests and --emit=kernels.
  std::string str() const;
};

/// Attribute of kernels with a given parallel range: epilogues.
inline constexpr llvm::StringLiteral kRowsAttrName = "rows";
/// Attribute of kernels that are mapped to a GPU (spmdc-map-to-gpu): threads of a block; `extent` then counts blocks.
inline constexpr llvm::StringLiteral kBlockThreadsAttrName = "block_threads";

/// Attributes of kernels that are mapped to a GPU: the limits of a block's shared memory and of a cluster's blocks,
/// which determine the schedule; the bytes of shared memory that a launch has to request, and those of memory that is
/// cleared before it.
inline constexpr llvm::StringLiteral kSharedLimitAttrName = "shared_limit", kMaxClusterAttrName = "max_cluster_blocks",
                                     kSharedBytesAttrName = "shared_bytes", kStateBytesAttrName = "state_bytes";
/// Lanes::Tiles: the number of columns in one block of a strip.
inline constexpr int64_t kTileColumns = 64;
/// Lanes::Rows: the number of adjacent rows in one block if several stages walk it.
inline constexpr int64_t kRowBlock = 256;

} // namespace spmdc
