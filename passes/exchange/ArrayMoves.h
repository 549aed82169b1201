//===- ArrayMoves.h - operations that only move elements --------*- C++ -*-===//
//
// Slices, pads, concatenations, reversals and updates at constant indices (ShardingRuleOpInterface::getMoves) run under
// any shardings of their operands and result: each device receives the elements of its shard of the result that are not
// in its shards of the operands. For a stencil these are the halos.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// The parts of the operation's result, as moves of earlier arrays: getNearestMoves follows the operands through slices
/// and reversals with one use, and through concatenations and updates with one use that would exchange elements
/// themselves. So two slices that are concatenated in another order are moved once. `skipped` receives the operations
/// that are not needed then. Values for which `isAvailable` is false are not used as sources.
ArrayMoves getNearestMoves(
    ShardingRuleOpInterface op, llvm::SmallVectorImpl<mlir::Operation *> *skipped = nullptr,
    llvm::function_ref<bool(mlir::Value)> isAvailable = [](mlir::Value) { return true; });

/// The array whose elements `value` consists of, if its operation only moves elements of one array, and `value` has one
/// use. `outside` receives the scalar that fills the other elements; if `outside` is null, a value with such elements
/// has no move.
std::optional<ArrayMove> getOnlyMove(mlir::Value value, mlir::Value *outside = nullptr);

/// Whether the operation moves elements, and a device cannot do so within its shards: a dimension along which elements
/// move is sharded, or the sharding changes.
bool needsExchange(ShardingRuleOpInterface op, const ShardingRule &rule, llvm::ArrayRef<ArrayType> operands,
                   ArrayType result);

/// The same for the present shardings of an operation's operands and result.
bool needsExchange(mlir::Operation *op);

/// The local result: one exchange for each part, or a local slice where every device already holds its elements.
/// `localOf` and `globalOf` return the local value (null if it was not built) and the global type of a value of the
/// global program.
mlir::Value buildMoves(mlir::OpBuilder &builder, ShardingRuleOpInterface op, ArrayType result, MeshAttr mesh,
                       llvm::function_ref<mlir::Value(mlir::Value)> localOf,
                       llvm::function_ref<ArrayType(mlir::Value)> globalOf);

/// The move from `inner`'s source to `outer`'s result, if `outer`'s source is `inner`'s result; nothing if no single
/// move does that. Example: every third element of an array that has zeros between its elements.
std::optional<ArrayMove> composeMoves(const ArrayMove &outer, const ArrayMove &inner);

/// Whether the move puts filler between elements along some dimension.
bool isDilated(const ArrayMove &move);

/// The local shard of `to` as a slice of the local shard of `from`; the start may differ by device. `between` (a
/// scalar) is the filler of a dilated move. Elements that the part does not supply have any value. Null if some device
/// does not hold the elements that it needs.
mlir::Value buildLocalPart(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value local, const ArrayMove &part,
                           ArrayType from, ArrayType to, MeshAttr mesh, mlir::Value between = nullptr);

/// The local shard of `to` with the elements that a part supplies, and zeros elsewhere. `local` is the local shard of
/// `from`. A part without moves is an array in another shape.
mlir::Value buildExchange(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value local, const ArrayMove &part,
                          ArrayType from, ArrayType to, MeshAttr mesh, llvm::StringRef why);

/// The `why` of an exchange that computes `to` from `from`.
std::string whyExchange(ShardingRuleOpInterface op, ArrayType from, ArrayType to);

/// `inside` where the result's elements are within the extent, `outside` elsewhere.
mlir::Value chooseInside(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<spmd::MovedRange> extent,
                         ArrayType to, mlir::Value inside, mlir::Value outside);

} // namespace spmdc
