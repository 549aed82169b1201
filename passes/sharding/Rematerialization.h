//===- Rematerialization.h - rematerializable values ------------*- C++ -*-===//
//
// A splat constant and an iota need no data, a broadcast needs only the smaller array, and an element-wise result of
// such values needs only theirs: a bias along the rows of an array, a causal mask. If such a value is needed in another
// sharding, it is rematerialized from this data, and the large array need not be resharded.
//
// An element-wise result of one array, or a reshape of it, can be rematerialized from that array if it is available in
// the sharding already, or is smaller (a cast to a wider type).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/OpInterfaces.h"
#include "ir/spmd/SpmdTypes.h"

#include <optional>

namespace spmdc {

/// Whether every shard of the value, in any sharding, can be computed from splat constants, iotas, scalars and
/// broadcast arrays; reshards are looked through. Visits a bounded number of operations.
bool isRematerializable(mlir::Value value);

/// Whether the value is a constant that is zero everywhere.
bool isZero(mlir::Value value);

/// The operation that can compute the value in any sharding: that of a rematerializable value, an element-wise
/// operation of one array and rematerializable values, or a reshape of one array; null if there is none. For the last
/// two, reshards are not looked through: the user may have written them so that devices hold no more until here.
ShardingRuleOpInterface findRematerializableOp(mlir::Value value);

/// The operand types with which `definingOp` computes its result in the wanted sharding; none if no assignment of axes
/// does.
std::optional<llvm::SmallVector<ArrayType>> listOperandTypes(const spmd::MeshShape &mesh,
                                                             ShardingRuleOpInterface definingOp, ArrayType wanted);

/// A change of a value's sharding.
struct ShardingPair {
  ArrayType from, to;
};

/// The reshards that are needed to rematerialize a value in the wanted sharding; none if that is not possible.
std::optional<llvm::SmallVector<ShardingPair>> listReshardsToRematerialize(const spmd::MeshShape &mesh,
                                                                           mlir::Value value, ArrayType wanted);

/// Builds the operations that compute `value` in the sharding `wanted`, with a spmd.reshard for each pair of
/// `listReshardsToRematerialize`, which must have succeeded. Used for operands beside partial sums.
mlir::Value rematerialize(mlir::OpBuilder &builder, const spmd::MeshShape &mesh, mlir::Value value, ArrayType wanted);

} // namespace spmdc
