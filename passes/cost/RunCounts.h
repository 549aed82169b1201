//===- RunCounts.h - how often an operation runs ----------------*- C++ -*-===//
//
// An operation in a counted loop runs once in each iteration; in a branch of a conditional, once in each iteration that
// takes the branch. The compiler knows these iterations if the condition depends only on the loop's counter and on
// constants (an optimizer step in every fourth iteration): it evaluates the condition for each iteration.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace spmdc {

/// The number of iterations that the partitioner assumes for a loop: at least 1 for a counted loop, and 8 for a
/// `while`, whose count is unknown. More than 1, because a collective once before the loop that turns out unnecessary
/// costs less than one in each of many iterations.
double estimateIterations(mlir::Operation *loop);

/// Counts executions of operations. Caches results, so branches and loops must not change during its lifetime.
class RunCounts {
public:
  /// The fraction of the executions of a conditional that take this branch, or nullopt if it is unknown. For a
  /// conditional inside of other branches of the same loop: the fraction of the iterations that reach the conditional.
  std::optional<double> getShare(mlir::Block *arm);

  /// How often the operation runs in one run of its function. The body of a `while`, and a branch with an unknown
  /// condition, count once. Saturates at INT64_MAX.
  int64_t count(mlir::Operation *op);

private:
  /// Conditions are evaluated only in loops of at most so many iterations, to bound the compile time.
  static constexpr int64_t kMostIterations = 1 << 16;

  /// The number of iterations of a loop that reach a block in it: those that take all branches around the block whose
  /// conditions depend only on this loop's counter. Branches with unknown conditions count as taken.
  int64_t countIterations(mlir::Block *block, ForOp loop);

  llvm::DenseMap<std::pair<mlir::Block *, mlir::Operation *>, int64_t> known;
};

} // namespace spmdc
