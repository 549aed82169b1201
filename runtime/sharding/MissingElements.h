//===- MissingElements.h - elements that devices receive --------*- C++ -*-===//
#pragma once

#include "runtime/sharding/CountsByCoordinate.h"

#include <functional>
#include <map>
#include <vector>

namespace spmd {

/// `missingElements` for many pairs of arrays: counts of dimensions that share axes are cached.
class MissingElements {
public:
  /// Keeps a reference to the mesh.
  explicit MissingElements(const MeshShape &mesh) : mesh(mesh) {}

  /// If there are no moves and the shapes differ, the target is the source reshaped.
  double of(const ShardedShape &source, const ShardedShape &target, const std::vector<DimMove> &moves);

private:
  double ofReshaped(const ShardedShape &source, const ShardedShape &target);
  /// Returns the cached counts of the key, or calls `count` and caches its result.
  Counts lookUp(std::vector<int64_t> key, const std::function<Counts()> &count);

  const MeshShape &mesh;
  std::map<std::vector<int64_t>, Counts> known; ///< The key: sizes, moves and axes of the dimensions.
};

} // namespace spmd
