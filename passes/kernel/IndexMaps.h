//===- IndexMaps.h - how operations read their operands ---------*- C++ -*-===//
//
// Index maps of operations that move data without computing: from the index of a result element to the index of the
// operand element that it copies, and the conditions under which it copies one. Scheduling and code generation share
// them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/kernel/IndexExpr.h"

#include "llvm/ADT/MapVector.h"

#include <map>
#include <tuple>
#include <vector>

namespace spmdc {

using Index = llvm::SmallVector<IndexExpr>;

/// low <= expr < high
struct IndexGuard {
  IndexExpr expr;
  int64_t low = 0, high = 0;
  bool operator==(const IndexGuard &) const = default;
};

/// A guard, and whether it holds.
struct IndexAssumption {
  IndexGuard guard;
  bool holds = true;
  bool operator==(const IndexAssumption &) const = default;
};

/// A position that an element of an array of indices holds, clamped to [0, high].
struct IndexLookup {
  mlir::Value indices;
  Index place;
  int64_t high = 0;
};

/// The operand element at `index` where all guards hold; elsewhere padding.
struct MappedIndex {
  Index index;
  llvm::SmallVector<IndexGuard> guards;
  llvm::SmallVector<IndexLookup> lookups; ///< The lookups of which the index is composed.
};

/// The expressions of one kernel, and the variables that stand for positions known only on the device.
class KernelIndexing {
public:
  IndexSpace space;

  /// Returns the index of the operand element that result element `index` of a broadcast, reshape, transpose, slice,
  /// reverse, pad, all_slice, dynamic_slice or take copies. For dynamic_update_slice: the index in the update.
  MappedIndex map(mlir::Operation *op, llvm::ArrayRef<IndexExpr> index);
  /// The guard that holds where an element of a concatenation comes from one of its first `count` operands.
  IndexGuard getFirstParts(ConcatenateOp op, llvm::ArrayRef<IndexExpr> index, size_t count) const;
  /// The first element of the device's shard, for every all_slice passed to `map`.
  const llvm::MapVector<mlir::Operation *, IndexExpr> &getSliceStarts() const { return sliceStarts; }

  /// The array element that a lookup's atom reads.
  const IndexLookup &getLookup(unsigned atom) const { return lookups.at(atom); }

private:
  /// Returns the position that an element holds: the same expression for the same element.
  IndexExpr lookUp(MappedIndex &mapped, mlir::Value indices, llvm::ArrayRef<IndexExpr> place, int64_t high);
  void addGuard(MappedIndex &mapped, const IndexExpr &expr, int64_t low, int64_t high);

  llvm::MapVector<mlir::Operation *, IndexExpr> sliceStarts;
  std::map<unsigned, IndexLookup> lookups;
  /// From array, bound and element index to expression. Keys are addresses, so no code iterates over the map.
  std::map<std::tuple<const void *, int64_t, std::vector<IndexExpr>>, IndexExpr> known;
};

/// True for the operations that `KernelIndexing::map` knows.
bool isIndexOp(mlir::Operation *op);

} // namespace spmdc
