//===- ReshardSpaces.h - spaces that many reshards share --------*- C++ -*-===//
#pragma once

#include "passes/reshard/ReshardSpace.h"

#include <memory>
#include <optional>

namespace spmdc {

/// The spaces of arrays over the whole axes of a mesh, in which nearly all shardings are.
class ReshardSpaces {
public:
  /// The mesh has to stay.
  explicit ReshardSpaces(const spmd::MeshShape &mesh) : mesh(mesh) {}

  /// Of the array, however it lies; stays where it is.
  const ReshardSpace &get(ArrayType type);

  /// The sharding in such a space; null where it names parts of axes.
  const ReshardState *getState(ShardingAttr sharding);

private:
  const spmd::MeshShape &mesh;
  llvm::DenseMap<mlir::Type, std::unique_ptr<ReshardSpace>> spaces;            ///< By types without shardings.
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<const ReshardState>> states; ///< Null for parts of axes.
};

} // namespace spmdc
