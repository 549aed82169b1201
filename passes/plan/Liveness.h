//===- Liveness.h - from when to when a value is needed ---------*- C++ -*-===//
//
// Steps of a function are numbered in program order, those of loops and branches between the number at which their
// step begins and the one at which it ends. A value is needed in ranges of these numbers:
//
// - A reshape names the memory of its operand, so uses count for the value at the root of a chain of reshapes.
// - The operand of a collective is needed until its plan.done, and its result's memory is taken from plan.start on.
// - What is defined before a loop and read in it is needed to the end of the loop: the next iteration reads it again.
// - What is defined before a branch and last read in it is needed in the arms that read it, as far as they do.
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
  /// Whether they have more in common than that these end at `step`, where the other ones begin.
  bool overlapsBeyond(int64_t step, const LiveRanges &later) const;

private:
  llvm::SmallVector<LiveRange, 2> ranges;
};

class Liveness {
public:
  explicit Liveness(mlir::func::FuncOp func);

  /// The value whose memory this value names.
  static mlir::Value getRoot(mlir::Value value);
  /// The ranges of all values that steps and their regions define, in program order.
  const llvm::MapVector<mlir::Value, LiveRanges> &getRanges() const { return ranges; }
  /// Of one of the function's arguments; none where it is not read.
  std::optional<LiveRanges> getArgumentRanges(mlir::BlockArgument argument) const;
  /// Where a step begins.
  int64_t getStep(mlir::Operation *op) const { return begins.lookup(op); }

private:
  void number(mlir::Block &block, int64_t &next);
  void addValues(mlir::Block &block);
  void addArguments(mlir::Operation *op);
  /// Ranges from `begin`, in `block`, to the last of these users, which are in the block or in its regions.
  void addUses(mlir::Block *block, int64_t begin, llvm::ArrayRef<mlir::Operation *> users, LiveRanges &result) const;
  /// The users of a value and of the reshapes that name its memory.
  static llvm::SmallVector<mlir::Operation *> getUsers(mlir::Value root);
  /// Until when a step reads its operands.
  int64_t getReadEnd(mlir::Operation *op) const;

  llvm::MapVector<mlir::Value, LiveRanges> ranges;
  llvm::DenseMap<mlir::Operation *, int64_t> begins, ends;
  llvm::DenseMap<mlir::Block *, int64_t> blockBegins;
};

} // namespace spmdc
