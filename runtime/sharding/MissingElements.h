//===- MissingElements.h - what devices need and do not hold ----*- C++ -*-===//
#pragma once

#include "runtime/sharding/PlaceCounts.h"

#include <functional>
#include <map>
#include <vector>

namespace spmd {

/// `missingElements` for many pairs of arrays: what has been counted of dimensions that share axes is looked up again.
class MissingElements {
public:
  /// The mesh has to stay.
  explicit MissingElements(const MeshShape &mesh) : mesh(mesh) {}

  /// Without moves between arrays of different shapes, the target is the source reshaped.
  double of(const ShardedShape &source, const ShardedShape &target, const std::vector<DimMove> &moves);

private:
  double ofReshaped(const ShardedShape &source, const ShardedShape &target);
  /// What has been counted for the key, or is now.
  Counts lookUp(std::vector<int64_t> key, const std::function<Counts()> &count);

  const MeshShape &mesh;
  std::map<std::vector<int64_t>, Counts> known; ///< By sizes, moves and axes of the dimensions.
};

} // namespace spmd
