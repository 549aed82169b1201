//===- Regrouping.h - reshapes whose pieces are not whole -------*- C++ -*-===//
//
// A reshape keeps the order of elements in memory, and where only the first dimension of those that it joins or splits
// is cut, or those before it into single elements, each device has a run of them:
//
//   f32[7@a, 5] over 4 devices     10, 10, 10 and 5 elements: rows 0 and 1, 2 and 3, 4 and 5, 6
//   f32[35@a]                      9, 9, 9 and 8
//
// The rule of the operation cannot say that, because no factor of the shapes is cut alike. As two flat arrays, padded
// so that runs are pieces, they are one exchange of the elements at the ends of runs. A slice in front of the reshape
// (a pool that leaves rows over) is a part of that exchange, and so is a pad (one that makes its last window whole).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include <optional>
#include <vector>

namespace spmdc {

/// The array that the operand is made of and the result, each with one dimension for those that are joined or split
/// together.
struct Regrouping {
  mlir::Value source; ///< The reshape's operand, or the array that slices and reshards make it of.
  ArrayType from, to;
  std::vector<spmd::DimMove> moves;
  mlir::Value outside; ///< What a pad has where the array has no element; null where there is no such place.
  bool isWhole = true; ///< Every element stays at its place.
};

/// The reshape's result, which lies as `to`, from the array furthest back that it can be regrouped from: beyond slices,
/// a pad and reshards whose results nothing else looks at, and that `isThere` allows. `skipped` takes these. Nothing
/// where devices have runs of none of them.
std::optional<Regrouping> findRegrouping(
    const spmd::MeshShape &mesh, ReshapeOp op, ArrayType to, llvm::function_ref<ArrayType(mlir::Value)> typeOf,
    llvm::SmallVectorImpl<mlir::Operation *> *skipped = nullptr,
    llvm::function_ref<bool(mlir::Value)> isThere = [](mlir::Value) { return true; });

/// Whether each device has what its piece of the result is made of, in the same order, of the reshape's operand `from`.
bool isLocalReshape(const spmd::MeshShape &mesh, ReshapeOp op, ArrayType from, ArrayType to);

/// The local piece of `to`, the reshape's result, from that of the regrouping's source, which lies as `from`, and the
/// regrouping's outside.
mlir::Value buildRegrouping(mlir::OpBuilder &builder, ReshapeOp op, mlir::Value local, mlir::Value outside,
                            const Regrouping &regrouping, ArrayType from, ArrayType to, MeshAttr mesh);

} // namespace spmdc
