//===- TensorSharding.h - a sharding during propagation ---------*- C++ -*-===//
//
// The sharding of one array while propagation runs: a plain value to which axes are added. It is converted from
// ShardingAttr at the begin of the pass, and to ShardingAttr at the end.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/sharding/AxisList.h"

namespace spmdc {

/// Named as Shardy's TensorShardingAttr; elsewhere `Tensor` (ir/interfaces/Tensor.h) is a value of the evaluators.
struct TensorSharding {
  struct Dim {
    AxisList axes;
    bool isClosed = false; ///< No axes may be added.
    bool operator==(const Dim &) const = default;
  };
  llvm::SmallVector<Dim, 4> dims;
  /// Axes that may not be added to any dimension although none uses them: the array is unreduced over them, or they are
  /// reserved for a dimension with a later user priority.
  AxisList blocked;
  bool operator==(const TensorSharding &) const = default;

  /// Replaces the axes of dimensions by lists that extend them, if the dimension is open and no axis is used twice.
  /// Returns the dimensions that changed.
  llvm::SmallVector<unsigned, 4> extend(llvm::ArrayRef<AxisList> axes);
};

/// Converts a sharding, whose axes the mesh must have. Priorities are dropped.
TensorSharding getTensorSharding(const MeshAxes &mesh, ShardingAttr sharding);

/// The closed sharding with these axes on the dimensions.
ShardingAttr getClosedShardingAttr(const MeshAxes &mesh, const TensorSharding &sharding,
                                   llvm::ArrayRef<AxisRefAttr> unreduced);

} // namespace spmdc
