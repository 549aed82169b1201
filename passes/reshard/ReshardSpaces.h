//===- ReshardSpaces.h - spaces that many reshards share --------*- C++ -*-===//
#pragma once

#include "passes/reshard/ReshardSpace.h"

#include <memory>
#include <optional>

namespace spmdc {

/// The cached spaces of arrays over the full axes of a mesh, which describe nearly all shardings.
class ReshardSpaces {
public:
  /// The mesh must outlive this object.
  explicit ReshardSpaces(const spmd::MeshShape &mesh) : mesh(mesh) {}

  /// The space of an array with any sharding; the reference stays valid.
  const ReshardSpace &get(ArrayType type);

  /// The sharding as a state of such a space; null if it names parts of axes.
  const ReshardState *getState(ShardingAttr sharding);

private:
  const spmd::MeshShape &mesh;
  llvm::DenseMap<mlir::Type, std::unique_ptr<ReshardSpace>> spaces;            ///< Keyed by types without shardings.
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<const ReshardState>> states; ///< Null for parts of axes.
};

} // namespace spmdc
