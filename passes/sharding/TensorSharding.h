//===- TensorSharding.h - the sharding of an array in flux ------*- C++ -*-===//
//
// What propagation knows of one array while it runs: a plain value that grows, converted from and to ShardingAttr at
// the borders of the pass.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/sharding/AxisList.h"

namespace spmdc {

struct TensorSharding {
  struct Dim {
    AxisList axes;
    bool isClosed = false; ///< No axes may be added.
    bool operator==(const Dim &) const = default;
  };
  llvm::SmallVector<Dim, 4> dims;
  /// Axes that may not be added to any dimension although none uses them: partial sums lie over them, or a dimension
  /// of a later user priority will want them.
  AxisList blocked;
  bool operator==(const TensorSharding &) const = default;

  /// Replaces the axes of dimensions by lists that extend them, where that is possible (the dimension is open and no
  /// axis would be used twice); returns the dimensions that changed.
  llvm::SmallVector<unsigned, 4> extend(llvm::ArrayRef<AxisList> axes);
};

/// All axes of the sharding must be known to the mesh. Priorities are left out.
TensorSharding getTensorSharding(const MeshAxes &mesh, ShardingAttr sharding);

/// The closed sharding with these axes on the dimensions.
ShardingAttr getClosedShardingAttr(const MeshAxes &mesh, const TensorSharding &sharding,
                                   llvm::ArrayRef<AxisRefAttr> unreduced);

} // namespace spmdc
