//===- Liveness.h - live ranges of values -----------------------*- C++ -*-===//
//
// Steps of a function are numbered in program order, those of a loop or branch between the numbers of the begin and the
// end of their parent step. A value is live in ranges of these numbers:
//
// - A reshape shares the memory of its operand, so uses count for the value at the root of a chain of reshapes.
// - The operand of a collective is live until its plan.done, and its result from plan.start on.
// - A value that is defined before a loop and read in it is live to the end of the loop: the next iteration reads it
//   again.
// - A value that is defined before a branch and last read in it is live in the branches that read it, up to their last
//   read.
// - The arguments and the result of a carry are values of their own: an argument from the beginning of the loop (where
//   the carries are set) to its last use in the body, the condition's argument through the whole condition (the body's
//   argument and the result are the same array), the result from the end of the loop on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace spmdc {

struct LiveRange {
  int64_t begin = 0, end = 0; ///< Steps, both inclusive.
  bool overlaps(const LiveRange &other) const { return begin <= other.end && other.begin <= end; }
};

/// Ranges in ascending order that neither overlap nor touch.
class LiveRanges {
public:
  void add(LiveRange range);
  void add(const LiveRanges &other);
  llvm::ArrayRef<LiveRange> get() const { return ranges; }
  int64_t getBegin() const { return ranges.front().begin; }
  int64_t getEnd() const { return ranges.back().end; }
  bool overlaps(const LiveRanges &other) const;
  /// True if they overlap in more than `step`, where these end and the others begin.
  bool overlapsBeyond(int64_t step, const LiveRanges &later) const;

private:
  llvm::SmallVector<LiveRange, 2> ranges;
};

class Liveness {
public:
  explicit Liveness(mlir::func::FuncOp func);

  /// Returns the value whose memory this value shares: the root of its chain of reshapes.
  static mlir::Value getRoot(mlir::Value value);
  /// The live ranges of all values that steps and their regions define, in program order.
  const llvm::MapVector<mlir::Value, LiveRanges> &getRanges() const { return ranges; }
  /// The live ranges of one of the function's arguments; nullopt if no step reads it.
  std::optional<LiveRanges> getArgumentRanges(mlir::BlockArgument argument) const;
  /// The number at which a step begins.
  int64_t getStep(mlir::Operation *op) const { return begins.lookup(op); }

private:
  void number(mlir::Block &block, int64_t &next);
  void addValues(mlir::Block &block);
  void addArguments(mlir::Operation *op);
  /// Adds ranges from `begin`, in `block`, to the last of these users, which are in the block or in its regions.
  void addUses(mlir::Block *block, int64_t begin, llvm::ArrayRef<mlir::Operation *> users, LiveRanges &result) const;
  /// The users of a value and of the reshapes that name its memory.
  static llvm::SmallVector<mlir::Operation *> getUsers(mlir::Value root);
  /// The last number at which a step reads its operands.
  int64_t getReadEnd(mlir::Operation *op) const;

  llvm::MapVector<mlir::Value, LiveRanges> ranges;
  llvm::DenseMap<mlir::Operation *, int64_t> begins, ends;
  llvm::DenseMap<mlir::Block *, int64_t> blockBegins;
};

} // namespace spmdc
