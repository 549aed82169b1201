//===- KernelSchedule.h - the loops of a kernel -----------------*- C++ -*-===//
//
// A fused group of array operations as loops, before any backend: a parallel range of rows, and per row a sequence of
// stages. A stage runs over an inner domain; it reduces values over it, stores outputs, or both. Everything else in the
// group is computed where it is used, at an index that is known symbolically; a reduction's value is used by later
// stages of the same row.
//
// Example: softmax of f32[64, 1000] along the last dimension
//     rows [64], lanes Inner
//     stage 0: domain [1000]  reduce max x
//     stage 1: domain [1000]  reduce sum e, keep e = exp(x - max)
//     stage 2: domain [1000]  store e / sum
//
// `lanes` says where neighbouring memory lies, and so what a vector or a warp runs over:
//   Inner  the innermost dimension of the domain (a row is contiguous): CPU: vectors within a row; GPU: a block a row.
//   Rows   the last row dimension (consecutive rows are contiguous, the domain is walked in sequence): element-wise
//          work, reductions over leading dimensions. CPU: blocks of rows side by side; GPU: a thread a row.
//   Tiles  outputs and inputs disagree (transposes): as Rows, but `tiledRow` is the row dimension in which an input is
//          contiguous. The parallel range counts strips of kTileRows of it; a strip walks the last row dimension in
//          squares.
//
// A schedule is computed from the operations alone, the same each time: the pass that forms kernels asks whether there
// is one, and each backend computes it again from the outlined kernel.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"
#include "passes/kernel/IndexMaps.h"

#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <optional>
#include <vector>

namespace spmdc {

/// A set of operations seen as one kernel. What they use from outside is read from memory.
struct KernelBody {
  llvm::SmallVector<mlir::Value> outputs;
  llvm::DenseSet<mlir::Operation *> ops;

  bool contains(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    return op && ops.contains(op);
  }
  static KernelBody of(plan::KernelOp kernel);
};

/// What a backend keeps of a row from one stage to the next, and what computing costs it.
struct ScheduleTraits {
  /// Most elements of a row that are kept of what is computed (64 KiB of f32, which a core's cache holds); a stage
  /// recomputes beyond that.
  int64_t computedExtent = 16384;
  /// Most bytes of a row that are kept, with what is computed, of what several stages read from memory, each value
  /// filled up to `loadedUnit`; 0: the cache does that.
  int64_t loadedBytes = 0, loadedUnit = 1;
  /// Cost of an operation beside that of memory, in units of OpCost.h.
  double computeCost = 1;
  /// So many times longer a kernel of one block takes than one that occupies the machine, for what each block does
  /// beyond `workOfOneBlock`: what it does in the time that another launch takes. 1: cores do not wait for others.
  double slowdownAlone = 1, workOfOneBlock = 0;

  /// A GPU that gives a block so many bytes of shared memory. A thread's registers keep the computed elements of a row.
  static ScheduleTraits forGpu(int64_t sharedBytes);
};

struct KernelSchedule {
  enum class Lanes { Inner, Rows, Tiles };

  /// Inner loops: one variable for each dimension (a constant 0 where the size is 1).
  struct Domain {
    llvm::SmallVector<int64_t> shape;
    Index vars;
    int64_t getExtent() const;
  };
  /// `op` (reduce) of the operand at this index, over the stage's domain; one value a row.
  struct Reduction {
    ReduceOp op;
    Index operandIndex;
  };
  /// `op` (cumulative) along its dimension, which is the stage's whole domain: walked in sequence, and stored.
  struct Scan {
    CumulativeOp op;
    Index operandIndex;
    unsigned output = 0;
  };
  struct Store {
    unsigned output = 0; ///< Into KernelBody::outputs.
    Index index;
  };
  /// A value worth keeping for later stages: computed here, read there at the same index.
  struct StageCache {
    mlir::Value value;
    Index index;
  };
  /// What a stage reads from memory.
  struct Load {
    mlir::Value value;
    Index index;
    unsigned stage = 0;
    bool isGuarded = false; ///< Read only where some condition holds: elsewhere the index may lie outside.
  };
  struct Stage {
    unsigned domain = 0;
    llvm::SmallVector<Reduction> reductions;
    llvm::SmallVector<Scan> scans;
    llvm::SmallVector<Store> stores;
    llvm::SmallVector<StageCache> stashes;
  };

  std::shared_ptr<KernelIndexing> indexing;
  Lanes lanes = Lanes::Rows;
  llvm::SmallVector<int64_t> rowShape; ///< The parallel range, row-major; its product is the extent.
  Index rowVars;
  int64_t tiledRow = -1; ///< Tiles only: into rowShape.
  std::vector<Domain> domains;
  std::vector<Stage> stages;
  std::vector<Load> loads;
  int64_t grain = 1;
  double work = 0; ///< Estimated cost of the whole kernel; the unit is about one vectorised addition of an element.

  int64_t getExtent() const;
  /// Position in the parallel range, from the row variables.
  IndexExpr getRow() const;
  /// Most values any stash needs for one row.
  int64_t getStashExtent() const;

  /// True if `output` may lie where `input` lies: each element is read only where it is written, and not in a later
  /// stage. Enough for code that runs a row's iterations one by one and reads all that an iteration of a stage needs
  /// before it writes; a backend whose code does not, asks for more (passes/kernel/Overwrites.h).
  bool canOverwrite(mlir::Value input, unsigned output, mlir::Value outputValue) const;

  /// The loops of these operations; fails where they are not one kernel. With `rows`, the parallel range is exactly
  /// that many leading rows of the outputs (epilogues of matrix products). `isTrial` leaves out what only generated
  /// code needs: the joining of dimensions, tiles.
  static mlir::FailureOr<KernelSchedule> compute(const KernelBody &body, std::optional<int64_t> rows = {},
                                                 bool isTrial = false, const ScheduleTraits &traits = {});
  /// Of an outlined kernel; fails with an error.
  static mlir::FailureOr<KernelSchedule> compute(plan::KernelOp kernel, const ScheduleTraits &traits = {});
  /// Readable text, for tests and --emit=kernels.
  std::string str() const;
};

/// Attribute of kernels whose parallel range is given: epilogues.
inline constexpr llvm::StringLiteral kRowsAttrName = "rows";
/// Attribute of kernels that are mapped to a GPU (spmdc-map-to-gpu): threads of a block; `extent` then counts blocks.
inline constexpr llvm::StringLiteral kBlockThreadsAttrName = "block_threads";

/// Attributes of kernels that are mapped to a GPU: the shared memory that a block may have, from which its schedule
/// follows, and the part of it that a launch has to ask for.
inline constexpr llvm::StringLiteral kSharedLimitAttrName = "shared_limit", kSharedBytesAttrName = "shared_bytes";

/// Shared memory of a block on every GPU.
inline constexpr int64_t kMinSharedBytes = 48 * 1024;
/// Tiles: an iteration of the parallel range is this many of the tiled row dimension, and all of the last one.
inline constexpr int64_t kTileRows = 16;
/// Rows that are computed side by side where lanes are rows.
inline constexpr int64_t kRowBlock = 256;

} // namespace spmdc
