//===- MissingElements.h - what devices need and do not hold ----*- C++ -*-===//
#pragma once

#include "runtime/support/DimMoves.h"

#include <map>
#include <utility>
#include <vector>

namespace spmd {

/// `missingElements` for many pairs of arrays: what has been counted of dimensions that share axes is looked up again.
class MissingElements {
public:
  /// The mesh has to stay.
  explicit MissingElements(const MeshShape &mesh) : mesh(mesh) {}

  double of(const ShardedShape &source, const ShardedShape &target, const std::vector<DimMove> &moves);

private:
  const MeshShape &mesh;
  /// Needed and held elements, by sizes, moves and axes of the dimensions.
  std::map<std::vector<int64_t>, std::pair<double, double>> known;
};

} // namespace spmd
