//===- OwnerRead.h - one element of a sharded dimension ---------*- C++ -*-===//
//
// A read at one run-time index of a sharded dimension finds what it reads on one device of each group: x[i], of which i
// is the same on all of them. The owner broadcasts it (half the bytes of adding up what it has and zeros of the
// others), and its position follows from the index by the nested ceilings of shards.
//
// Worked example, x: f32[10@a] with a=4: shards of 3, 3, 3 and 1 elements; x[7] is element 1 of position 7 / 3 = 2.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/reshard/ReshardPlanner.h"

#include <optional>

namespace spmdc {

/// How a take or dynamic_slice gets what one device owns.
struct OwnerRead {
  int64_t dim = 0; ///< The sharded dimension that is read at one index.
  /// Of the broadcast by which all devices have the result.
  CollectiveCost cost;

  /// Nothing for any other operation, where more than one device may own parts of what is read, or where bringing the
  /// partial sums of type `made` to `wanted` is more, or less, than one all_reduce over the axes of that dimension.
  static std::optional<OwnerRead> find(ReshardPlanner &planner, mlir::Operation *read,
                                       llvm::ArrayRef<ArrayType> operands, ArrayType made, ArrayType wanted);

  /// What each device has of the result then. `operands` are the local ones, `operand` is the global type.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Operation *read, llvm::ArrayRef<mlir::Value> operands,
                    ArrayType operand, ArrayType result, const spmd::MeshShape &mesh) const;
};

} // namespace spmdc
