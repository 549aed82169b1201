//===- OwnerRead.h - one element of a sharded dimension ---------*- C++ -*-===//
//
// A read at one run-time index of a sharded dimension, x[i] with the same i on all devices, needs an element that one
// device of each group holds. That owner broadcasts it, which sends half the bytes of an all_reduce of the owner's
// element and the others' zeros. The owner's position follows from the index by the nested ceilings of shards
// (runtime/sharding/Sharding.h). `find` is called twice with the same types: by the choice of a strategy
// (passes/strategy/Strategy.cpp), which prices the broadcast, and by the partitioner (passes/partition/Partition.cpp),
// which calls `build`.
//
// Worked example, x: f32[10@a] with a=4: shards of 3, 3, 3 and 1 elements; x[7] is element 1 of position 7 / 3 = 2.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/reshard/ReshardPlanner.h"

#include <optional>

namespace spmdc {

/// The owner read of a take or a dynamic_slice.
struct OwnerRead {
  int64_t dim = 0; ///< The sharded dimension that is read at one index.
  /// Cost of the broadcast.
  CollectiveCost cost;

  /// `made`: the type, with partial sums, that the operation has by its sharding rule; `wanted`: the type to which its
  /// result is resharded. Returns nothing for any other operation, if several devices may own parts of the elements
  /// that are read, or if the reshard from `made` to `wanted` is not exactly one all_reduce over the axes of that
  /// dimension.
  static std::optional<OwnerRead> find(ReshardPlanner &planner, mlir::Operation *read,
                                       llvm::ArrayRef<ArrayType> operands, ArrayType made, ArrayType wanted);

  /// The local result of the owner read. `operands` are local values, `operand` is the global type.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Operation *read, llvm::ArrayRef<mlir::Value> operands,
                    ArrayType operand, ArrayType result, const spmd::MeshShape &mesh) const;
};

} // namespace spmdc
