//===- ReshardSpace.h - the shardings a reshard may pass through, over atoms --*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/reshard/ReshardState.h"

#include "llvm/ADT/SmallBitVector.h"

#include <map>

namespace spmdc {

/// The shardings of one array over atoms.
class ReshardSpace {
public:
  /// Beyond so many devices a look at every one of them takes longer than it saves: the search is led by sizes alone.
  static constexpr int64_t kManyDevices = 1024;

  /// `type`: of the array, however it lies. The mesh has to stay.
  ReshardSpace(const spmd::MeshShape &mesh, ArrayType type, Atoms atoms);

  spmd::Sharding toSharding(const ReshardState &state) const;

  /// Whether the array is cut alike by the axes and by their atoms.
  bool isFaithful(const ReshardState &state) const;

  /// How a dimension is cut, without the axes.
  struct DimSize {
    int64_t largest = 1; ///< Elements of the largest piece,
    int64_t pieces = 1;  ///< and into how many the dimension is cut.
  };
  using Sizes = llvm::SmallVector<DimSize, 6>;
  Sizes sizesOf(const ReshardState &state) const;
  DimSize sizeOf(size_t dim, llvm::ArrayRef<Atom> dimAtoms) const { return cutFurther({shape[dim], 1}, dimAtoms); }
  DimSize cutFurther(DimSize size, llvm::ArrayRef<Atom> dimAtoms) const;

  /// The largest piece on a device.
  double localBytes(const Sizes &sizes) const;
  double localBytes(const ReshardState &state) const { return localBytes(sizesOf(state)); }
  double localBytes(const spmd::Sharding &sharding) const;
  /// The axes, or the atoms of them where these exist, that are not among the others.
  std::vector<spmd::AxisRef> without(const std::vector<spmd::AxisRef> &axes,
                                     const std::vector<spmd::AxisRef> &others) const;
  /// How many pieces the atoms make.
  double groupOf(llvm::ArrayRef<Atom> group) const;
  /// What all devices together need and do not hold.
  double exchangeBytes(const spmd::Sharding &source, const spmd::Sharding &target) const;
  double exchangeBytes(const ReshardState &state, const ReshardState &goal) const;
  /// What devices of a state lack of the goal, or less where a look at every one of them takes longer than it saves.
  double missingBytes(const ReshardState &state, const ReshardState &goal) const;
  /// What no way can send less than, without a look at every device: of its piece of the goal a device holds at most
  /// the smaller of both sizes in each dimension. Of pieces that are not all of one size nothing is known.
  double leastBytes(const ReshardState &state, const ReshardState &goal) const {
    return leastBytes(sizesOf(state), sizesOf(goal));
  }
  double leastBytes(const Sizes &sizes, const Sizes &ofGoal) const;

  /// What no way can send less than where partial sums are reduced: each element has one on so many devices, and all
  /// but one of them leave theirs.
  double leastReducedBytes(const ReshardState &state, const ReshardState &goal) const;

  /// The atoms over which devices must talk. One that cuts the same dimension behind majors of the same sizes selects
  /// the same elements on both sides: what a device needs, devices of its own coordinate have. Behind other sizes it
  /// does not, even at the same place: over a=3, b=2, c=2 the pieces of b are others in (a, b) than in (c, b).
  AtomList involvedAtoms(const ReshardState &state, const ReshardState &goal) const;

  const spmd::MeshShape &mesh;
  const int64_t deviceCount;
  const Atoms atoms;
  const bool isOfWholeAxes;

private:
  /// One dimension, cut by a list of atoms.
  using Cut = std::pair<size_t, AtomList>;
  struct SharedDims;
  /// By the coordinates in the atoms, the first major.
  const std::vector<spmd::ShardRange> &getPieces(size_t dim, llvm::ArrayRef<Atom> dimAtoms) const;
  bool isFaithful(size_t dim, llvm::ArrayRef<Atom> dimAtoms) const;
  bool comesOutAlike(size_t dim, llvm::ArrayRef<Atom> dimAtoms) const;

  std::vector<int64_t> shape;
  double elementBytes;
  mutable std::map<Cut, std::vector<spmd::ShardRange>> pieces;
  mutable std::map<Cut, bool> faithful; ///< Of dimensions that do not come out even.
};

} // namespace spmdc
