//===- ArrayMoves.h - operations that only move elements -------------*- C++ -*-===//
//
// Slices, pads, concatenations, reversals and updates at places that are known (ShardingRuleOpInterface::getMoves) run
// under any shardings of their operands and result: each device receives the elements of its piece of the result that
// its pieces of the operands do not have. Of a stencil that is the edges.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// What the operation's result is made of, seen through slices and reversals that nothing else uses, and through
/// concatenations and updates that would exchange elements themselves: two slices that are joined again in another
/// order are moved once. `skipped` takes the operations that are not needed then. Values of
/// which `isThere` is false are not taken.
ArrayMoves getNearestMoves(
    ShardingRuleOpInterface op, llvm::SmallVectorImpl<mlir::Operation *> *skipped = nullptr,
    llvm::function_ref<bool(mlir::Value)> isThere = [](mlir::Value) { return true; });

/// The one array that a value is made of, if its operation does nothing but that, and nothing else looks at the value.
/// `outside` takes what is where no element of that is; without it there is no such place.
std::optional<ArrayMove> getOnlyMove(mlir::Value value, mlir::Value *outside = nullptr);

/// Whether the operation moves elements, and cannot do so on the pieces alone: a dimension along which they move is
/// cut, or the sharding changes.
bool needsExchange(ShardingRuleOpInterface op, const ShardingRule &rule, llvm::ArrayRef<ArrayType> operands,
                   ArrayType result);

/// The same for an operation as its operands and its result lie.
bool needsExchange(mlir::Operation *op);

/// The local result, by one exchange for each part; where every device has its whole piece, by a slice. `localOf` and
/// `globalOf` give what a value of the global program has become (null where it was left out), and its type.
mlir::Value buildMoves(mlir::OpBuilder &builder, ShardingRuleOpInterface op, ArrayType result, MeshAttr mesh,
                       llvm::function_ref<mlir::Value(mlir::Value)> localOf,
                       llvm::function_ref<ArrayType(mlir::Value)> globalOf);

/// What `outer` is made of, if its source is made of `inner`'s; none where no one move does that: every third of what
/// has zeros between its elements.
std::optional<ArrayMove> composeMoves(const ArrayMove &outer, const ArrayMove &inner);

/// Whether elements come to lie apart along some dimension.
bool isDilated(const ArrayMove &move);

/// The local piece of `to`, as far as the part gives it, as a slice of that of `from` (at a place of each device's own,
/// perhaps), with `between` (a scalar) where elements lie apart and anything elsewhere; null where some device does not
/// have it.
mlir::Value buildLocalPart(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value local, const ArrayMove &part,
                           ArrayType from, ArrayType to, MeshAttr mesh, mlir::Value between = nullptr);

/// The local piece of `to` with the elements that a part gives, and zeros elsewhere: `local` is that of `from`. A part
/// without moves is an array in another shape.
mlir::Value buildExchange(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value local, const ArrayMove &part,
                          ArrayType from, ArrayType to, MeshAttr mesh, llvm::StringRef why);

/// Why an exchange is there: the operation makes elements of `to` from those of `from`.
std::string whyExchange(ShardingRuleOpInterface op, ArrayType from, ArrayType to);

/// `inside` where the result's elements are in the extent, `outside` elsewhere.
mlir::Value chooseInside(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<spmd::MovedRange> extent,
                         ArrayType to, mlir::Value inside, mlir::Value outside);

} // namespace spmdc
