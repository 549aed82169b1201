//===- Storages.h - which values share their memory -------------*- C++ -*-===//
//
// A storage is a piece of memory that several values hold one after the other. Three things join values:
//
// - The arguments and the result of a loop's carry are one storage, its home.
// - What a carry starts from, what the body yields for it, and what an arm yields for the result of a branch should be
//   made in that storage right away. Where the storage still holds something then (`yield (y, x)`), they cannot be: a
//   move is left, which copies the value there before the loop begins, or where the body or the arm ends.
// - An output of a kernel takes the storage of an input that dies with it, where each element is read only where it is
//   written; so does what the library changes in place.
//
// Example: of `for i in 0..n carry (x = f(a), s = 0.0) { let t = g(x); yield (t, s + sum(t)); }` with element-wise g,
// f(a), x, t and the loop's first result are one storage: the loop updates it in place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/plan/Liveness.h"

#include <map>

namespace spmdc {

struct Storage {
  int64_t bytes = 0;
  LiveRanges ranges;
  std::optional<int64_t> result;      ///< Number of the function's result that lies here.
  std::map<unsigned, int64_t> writes; ///< Steps at which moves write here, by the number of the move.
  llvm::SmallVector<mlir::Value> members;
  int64_t offset = 0; ///< In the arena.
};

/// A copy into a storage that is still to be made, before `step`, of the step's operand of this number.
struct Move {
  mlir::Operation *step;
  unsigned operand;
  mlir::Value home; ///< A value that lies where the copy goes.
  size_t target;    ///< The storage of that.
};

class Storages {
public:
  Storages(mlir::func::FuncOp func, const Liveness &liveness);

  /// The storage that a value lies in; none for the function's arguments and for constants.
  std::optional<size_t> find(mlir::Value value) const;
  Storage &get(size_t index) { return storages[index]; }
  /// Those that are in use, in program order.
  std::vector<size_t> list() const;
  /// What could not be made in place: in program order, those of one step together.
  const std::vector<Move> &getMoves() const { return moves; }
  /// Memory that is no value's.
  size_t addScratch(int64_t bytes, int64_t step);
  /// Whether the two are ever in use at the same time.
  bool overlap(size_t x, size_t y) const;

private:
  void addValues(mlir::func::FuncOp func);
  void addHomes(mlir::Operation *op);
  void joinCarries(mlir::Operation *op);
  void joinDyingInputs(mlir::func::FuncOp func);
  void joinOrMove(mlir::Operation *step, unsigned operand, mlir::Value home);
  void merge(size_t x, size_t y);
  bool tryMerge(size_t x, size_t y);
  bool canShare(const Storage &x, const Storage &y);
  /// Whether the one may be given up at this step for the other, which begins there.
  bool canTakeOver(int64_t step, const Storage &earlier, const Storage &later);
  bool mayOverwriteCached(plan::LaunchOp launch, mlir::Value root, unsigned output);

  const Liveness &liveness;
  std::vector<Storage> storages;                 ///< Empty members: merged into another, or scratch.
  llvm::DenseMap<mlir::Value, size_t> storageOf; ///< By root.
  llvm::DenseMap<int64_t, mlir::Operation *> stepAt;
  std::vector<Move> moves;
  std::vector<size_t> scratch;
  unsigned nextMove = 0;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Value>, llvm::DenseMap<unsigned, bool>> overwriteCache;
};

} // namespace spmdc
