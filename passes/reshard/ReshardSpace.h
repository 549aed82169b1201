//===- ReshardSpace.h - the shardings of one array, over atoms --*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/reshard/ReshardState.h"

#include "llvm/ADT/SmallBitVector.h"

#include <map>

namespace spmdc {

/// The shardings of one array over atoms, with their sizes and the bytes that a reshard between two of them sends. A
/// reshard passes through such shardings.
class ReshardSpace {
public:
  /// With more devices than this, counting bytes device by device takes longer than it saves: the search uses sizes.
  static constexpr int64_t kManyDevices = 1024;

  /// `type`: the type of the array, with any sharding. The mesh must outlive the space.
  ReshardSpace(const spmd::MeshShape &mesh, ArrayType type, Atoms atoms);

  spmd::Sharding toSharding(const ReshardState &state) const;

  /// Whether sharding by the state's atoms gives the same shards as sharding by the merged axes of `toSharding`. Uneven
  /// sizes may round differently.
  bool isFaithful(const ReshardState &state) const;

  /// The sizes of the shards of a dimension.
  struct DimSize {
    int64_t largest = 1; ///< The elements of the largest shard.
    int64_t shards = 1;  ///< The number of shards.
  };
  using Sizes = llvm::SmallVector<DimSize, 6>;
  Sizes sizesOf(const ReshardState &state) const;
  DimSize sizeOf(size_t dim, llvm::ArrayRef<Atom> dimAtoms) const { return shardFurther({shape[dim], 1}, dimAtoms); }
  DimSize shardFurther(DimSize size, llvm::ArrayRef<Atom> dimAtoms) const;

  /// The bytes of the largest shard.
  double localBytes(const Sizes &sizes) const;
  double localBytes(const ReshardState &state) const { return localBytes(sizesOf(state)); }
  double localBytes(const spmd::Sharding &sharding) const;
  /// The axes (or, if atoms exist, the parts of axes) that are not among the others.
  std::vector<spmd::AxisRef> without(const std::vector<spmd::AxisRef> &axes,
                                     const std::vector<spmd::AxisRef> &others) const;
  /// The number of shards over these atoms.
  double groupOf(llvm::ArrayRef<Atom> group) const;
  /// The exact number of bytes that all devices together need and do not hold.
  double exchangeBytes(const spmd::Sharding &source, const spmd::Sharding &target) const;
  double exchangeBytes(const ReshardState &state, const ReshardState &goal) const;
  /// The bytes that all devices in `state` lack of the goal: exact, or with many devices (kManyDevices) a lower bound.
  double missingBytes(const ReshardState &state, const ReshardState &goal) const;
  /// A lower bound on the bytes of any plan, without a look at every device: of its shard of the goal, a device holds
  /// at most the smaller of both sizes in each dimension. Negative (no bound) if shards are uneven.
  double lowerBoundBytes(const ReshardState &state, const ReshardState &goal) const {
    return lowerBoundBytes(sizesOf(state), sizesOf(goal));
  }
  double lowerBoundBytes(const Sizes &sizes, const Sizes &ofGoal) const;

  /// A lower bound on the bytes of any plan that reduces partial sums: each element has a partial sum on each device of
  /// its group, and all but one of them are sent.
  double lowerBoundReducedBytes(const ReshardState &state, const ReshardState &goal) const;

  /// The atoms over which devices must communicate. An atom is not among them if it shards the same dimension, after
  /// major atoms of the same sizes, in both states: then it selects the same elements in both, and a device finds what
  /// it needs on devices of its own coordinate. After other sizes this does not hold, even at the same position: over
  /// a=3, b=2, c=2 the shards of b differ between (a, b) and (c, b).
  AtomList involvedAtoms(const ReshardState &state, const ReshardState &goal) const;

  const spmd::MeshShape &mesh;
  const int64_t deviceCount;
  const Atoms atoms;
  const bool hasFullAxesOnly;

private:
  /// A dimension and the atoms that shard it.
  using DimAtoms = std::pair<size_t, AtomList>;
  struct SharedDims;
  /// The shards of a dimension, indexed by the coordinates along the atoms, the first one major.
  const std::vector<spmd::ShardRange> &getShards(size_t dim, llvm::ArrayRef<Atom> dimAtoms) const;
  bool isFaithful(size_t dim, llvm::ArrayRef<Atom> dimAtoms) const;
  bool comesOutAlike(size_t dim, llvm::ArrayRef<Atom> dimAtoms) const;

  std::vector<int64_t> shape;
  double elementBytes;
  mutable std::map<DimAtoms, std::vector<spmd::ShardRange>> shards;
  mutable std::map<DimAtoms, bool> faithful; ///< The results of isFaithful for dimensions with uneven shards.
};

} // namespace spmdc
