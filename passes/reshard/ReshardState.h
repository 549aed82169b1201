//===- ReshardState.h - a sharding over atoms -------------------*- C++ -*-===//
#pragma once

#include "passes/reshard/Atoms.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

namespace spmdc {

/// A sharding over atoms: the atoms of each dimension from major to minor, and the unreduced atoms in ascending order.
/// They are in one row of numbers, because a search creates, compares and looks up very many states.
class ReshardState {
public:
  ReshardState(llvm::ArrayRef<AtomList> dims, llvm::ArrayRef<Atom> unreduced);
  static ReshardState of(const Atoms &atoms, const spmd::Sharding &sharding);

  size_t getRank() const { return llvm::count(row, kEnd); }
  llvm::ArrayRef<Atom> getDim(size_t dim) const;
  llvm::ArrayRef<Atom> getUnreduced() const;
  bool isUsed(Atom atom) const { return llvm::is_contained(row, atom); }
  /// Whether all dimensions have the same atoms.
  bool hasSameDims(const ReshardState &other) const;

  /// Adds atoms at the minor end of a dimension.
  void append(size_t dim, llvm::ArrayRef<Atom> atoms);
  /// Removes `count` atoms from the minor end of a dimension.
  void drop(size_t dim, size_t count);
  void addUnreduced(llvm::ArrayRef<Atom> atoms);
  void removeUnreduced(llvm::ArrayRef<Atom> atoms);

  bool operator==(const ReshardState &other) const { return row == other.row; }
  /// Compares the dimensions in order, then the unreduced atoms.
  bool operator<(const ReshardState &other) const { return row < other.row; }

  struct Hash {
    size_t operator()(const ReshardState &state) const {
      return llvm::hash_combine_range(state.row.begin(), state.row.end());
    }
  };

private:
  /// Ends each dimension in the row; less than any atom.
  static constexpr Atom kEnd = -1;

  size_t getBegin(size_t dim) const;

  llvm::SmallVector<Atom, 16> row;
};

} // namespace spmdc
