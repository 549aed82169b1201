//===- RunCounts.h - how often an operation runs ----------------*- C++ -*-===//
//
// An operation in a counted loop runs once in each iteration; in an arm of a branch, once in each iteration that takes
// the arm. Which these are is known where the condition follows from the loop's counter and constants alone (a step of
// the optimizer in every fourth iteration): it is computed for each of them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace spmdc {

/// How often the body of a loop is taken to run where something is chosen. Nobody knows it of a `while`: what is sent
/// once in front of it, and would not have been needed, is less of a loss than what is sent in each of many iterations.
double getTrips(mlir::Operation *loop);

/// Of a program whose branches and loops do not change meanwhile.
class RunCounts {
public:
  /// Of how many runs of the branch one takes this arm; none where nobody knows. Inside of other arms of the same loop:
  /// of the iterations that take these.
  std::optional<double> getShare(mlir::Block *arm);

  /// How often the operation runs when its function runs once. Iterations of a `while`, and an arm of which nothing is
  /// known, count once; INT64_MAX stands for anything larger.
  int64_t count(mlir::Operation *op);

private:
  /// More iterations are not looked at.
  static constexpr int64_t kMostIterations = 1 << 16;

  /// How many iterations of a loop come to a block in it: take all the arms around it whose conditions follow from this
  /// loop's counter. Arms that nothing is known of count as taken.
  int64_t countIterations(mlir::Block *block, ForOp loop);

  llvm::DenseMap<std::pair<mlir::Block *, mlir::Operation *>, int64_t> known;
};

} // namespace spmdc
