//===- ReshardState.h - a sharding over atoms -------------------*- C++ -*-===//
#pragma once

#include "passes/reshard/Atoms.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

namespace spmdc {

/// A sharding over atoms: per dimension major to minor, and the unreduced atoms in ascending order. All in one row of
/// numbers: a search makes, compares and looks up very many.
class ReshardState {
public:
  ReshardState(llvm::ArrayRef<AtomList> dims, llvm::ArrayRef<Atom> unreduced);
  static ReshardState of(const Atoms &atoms, const spmd::Sharding &sharding);

  size_t getRank() const { return llvm::count(row, kEnd); }
  llvm::ArrayRef<Atom> getDim(size_t dim) const;
  llvm::ArrayRef<Atom> getUnreduced() const;
  bool isUsed(Atom atom) const { return llvm::is_contained(row, atom); }
  /// Whether dimensions are cut alike.
  bool hasSameDims(const ReshardState &other) const;

  /// Cuts a dimension further, at its minor end.
  void append(size_t dim, llvm::ArrayRef<Atom> atoms);
  /// Takes so many atoms off the minor end of a dimension.
  void drop(size_t dim, size_t count);
  void addUnreduced(llvm::ArrayRef<Atom> atoms);
  void removeUnreduced(llvm::ArrayRef<Atom> atoms);

  bool operator==(const ReshardState &other) const { return row == other.row; }
  /// As dimension after dimension would compare, and then what is unreduced.
  bool operator<(const ReshardState &other) const { return row < other.row; }

  struct Hash {
    size_t operator()(const ReshardState &state) const {
      return llvm::hash_combine_range(state.row.begin(), state.row.end());
    }
  };

private:
  /// Behind each dimension; less than any atom.
  static constexpr Atom kEnd = -1;

  size_t getBegin(size_t dim) const;

  llvm::SmallVector<Atom, 16> row;
};

} // namespace spmdc
