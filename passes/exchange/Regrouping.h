//===- Regrouping.h - reshapes of runs of elements --------------*- C++ -*-===//
//
// A reshape keeps the row-major order of elements. If, among the dimensions that it merges or splits, only the first is
// sharded, or the dimensions before the sharded one are sharded into single elements, each device holds a run of
// elements:
//
//   f32[7@a, 5] over 4 devices     10, 10, 10 and 5 elements: rows 0 and 1, 2 and 3, 4 and 5, 6
//   f32[35@a]                      9, 9, 9 and 8
//
// The sharding rule cannot express that, because the two shardings have no factor in common. As two flat arrays, padded
// so that runs are shards, the reshape is one exchange of the elements at the ends of runs. A slice before the reshape
// (a pool that drops the last rows) is part of that exchange, and so is a pad (a pool that completes its last window).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include <optional>
#include <vector>

namespace spmdc {

/// A reshape with flattened dimensions: `from` and `to` have one dimension for each group of dimensions that the
/// reshape merges or splits.
struct Regrouping {
  mlir::Value source; ///< The reshape's operand, or the array that slices and reshards make it of.
  ArrayType from, to;
  std::vector<spmd::DimMove> moves;
  mlir::Value outside;    ///< The padding value of a pad before the reshape; null without a pad.
  bool isComplete = true; ///< Whether no slice or pad is included: every element of the source is in the result.
};

/// The regrouping that results in `to`, from the array furthest back for which there is one: findRegrouping looks
/// through slices, a pad and reshards that have one use, if `isAvailable` allows the array. `skipped` receives these
/// operations. Nothing if no array on the way has shards that are runs of elements.
std::optional<Regrouping> findRegrouping(
    const spmd::MeshShape &mesh, ReshapeOp op, ArrayType to, llvm::function_ref<ArrayType(mlir::Value)> typeOf,
    llvm::SmallVectorImpl<mlir::Operation *> *skipped = nullptr,
    llvm::function_ref<bool(mlir::Value)> isAvailable = [](mlir::Value) { return true; });

/// Whether each device's shard of `to` has the same elements, in the same order, as its shard of the operand `from`.
bool isLocalReshape(const spmd::MeshShape &mesh, ReshapeOp op, ArrayType from, ArrayType to);

/// The local shard of `to`, the reshape's result. `local` is the local shard of the regrouping's source, of sharding
/// `from`; `outside` is the local value of the regrouping's outside.
mlir::Value buildRegrouping(mlir::OpBuilder &builder, ReshapeOp op, mlir::Value local, mlir::Value outside,
                            const Regrouping &regrouping, ArrayType from, ArrayType to, MeshAttr mesh);

} // namespace spmdc
