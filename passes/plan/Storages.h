//===- Storages.h - values that share memory --------------------*- C++ -*-===//
//
// A storage is memory that several values use one after the other. Values share a storage for three reasons:
//
// - The arguments and the result of a loop's carry are one storage, its home.
// - The initial value of a carry, the value that the body yields for it, and the value that a branch yields for its
//   result are computed in that storage if possible. If the storage is still in use then (`yield (y, x)`), a move
//   remains: it copies the value there before the loop begins, or at the end of the body or branch.
// - An output of a kernel takes the storage of an input that dies with it, if each element is read only where it is
//   written; a library call that changes its input in place does the same.
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
  std::optional<int64_t> result;      ///< Number of the function's result in this storage.
  std::map<unsigned, int64_t> writes; ///< Steps at which moves write here, by the number of the move.
  llvm::SmallVector<mlir::Value> members;
  int64_t offset = 0; ///< In the arena.
};

/// A copy to insert before `step`: of the step's operand of this number, into a storage.
struct PendingCopy {
  mlir::Operation *step;
  unsigned operand;
  mlir::Value home; ///< A value whose storage is the target of the copy.
  size_t target;    ///< The storage of `home`.
};

class Storages {
public:
  Storages(mlir::func::FuncOp func, const Liveness &liveness);

  /// The storage of a value; nullopt for the function's arguments and for constants.
  std::optional<size_t> find(mlir::Value value) const;
  Storage &get(size_t index) { return storages[index]; }
  /// The storages in use, in program order.
  std::vector<size_t> list() const;
  /// The values that could not be computed in place: in program order, those of one step together.
  const std::vector<PendingCopy> &getMoves() const { return moves; }
  /// Adds memory that belongs to no value.
  size_t addScratch(int64_t bytes, int64_t step);
  /// True if the two are ever in use at the same time.
  bool overlap(size_t x, size_t y) const;

private:
  void addValues(mlir::func::FuncOp func);
  void addHomes(mlir::Operation *op);
  void mergeCarries(mlir::Operation *op);
  void mergeDyingInputs(mlir::func::FuncOp func);
  void mergeOrMove(mlir::Operation *step, unsigned operand, mlir::Value home);
  void merge(size_t x, size_t y);
  bool tryMerge(size_t x, size_t y);
  bool canShare(const Storage &x, const Storage &y);
  /// True if `later`, which begins at this step, may take the memory of `earlier`.
  bool canTakeOver(int64_t step, const Storage &earlier, const Storage &later);
  bool mayOverwriteCached(plan::LaunchOp launch, mlir::Value root, unsigned output);

  const Liveness &liveness;
  std::vector<Storage> storages;                 ///< Empty entries: merged into another, or scratch.
  llvm::DenseMap<mlir::Value, size_t> storageOf; ///< By root.
  llvm::DenseMap<int64_t, mlir::Operation *> stepAt;
  std::vector<PendingCopy> moves;
  std::vector<size_t> scratch;
  unsigned nextMove = 0;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Value>, llvm::DenseMap<unsigned, bool>> overwriteCache;
};

} // namespace spmdc
