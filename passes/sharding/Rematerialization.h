//===- Rematerialization.h - values that devices can make again ------------*- C++ -*-===//
//
// A splat and an iota need nothing, what is broadcast needs the smaller array, and element-wise results of such values
// need no more than these: a bias along the rows of an array, a causal mask. Where one of them is needed otherwise than
// it lies, it is not the large array that has to be moved.
//
// An element-wise result of one array, or the array in another shape, can be made again where that array is there
// already, or is smaller: a cast to a wider type.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/OpInterfaces.h"
#include "ir/spmd/SpmdTypes.h"

#include <optional>

namespace spmdc {

/// Whether devices can make the value, or any part of it, of nothing, of scalars and of what is broadcast; changes of
/// its sharding are looked through. Looks at a bounded number of operations.
bool isRematerializable(mlir::Value value);

/// Whether the value is a constant that is zero everywhere.
bool isZero(mlir::Value value);

/// The operation that can make the value again in whatever sharding: of little, element-wise of one array beside what
/// is made of little, or one array's reshape; null where there is none. Not beyond a sharding that the program asks
/// for: whoever wrote it may not want devices to hold more than that until here.
ShardingRuleOpInterface findRematerializableOp(mlir::Value value);

/// How the operands of a maker lie where it makes its result in this sharding; nothing where no assignment of axes
/// gives that.
std::optional<llvm::SmallVector<ArrayType>> listOperandTypes(const spmd::MeshShape &mesh, ShardingRuleOpInterface maker,
                                                             ArrayType wanted);

/// A change of a value's sharding.
struct ShardingPair {
  ArrayType from, to;
};

/// What has to be moved so that devices make a value that is made of little in another sharding; nothing where it is
/// not, or cannot be made so.
std::optional<llvm::SmallVector<ShardingPair>> listReshardsToRematerialize(const spmd::MeshShape &mesh,
                                                                           mlir::Value value, ArrayType wanted);

/// Makes it so for partial sums, with a spmd.reshard for each of those moves. Only where they are known.
mlir::Value rematerialize(mlir::OpBuilder &builder, const spmd::MeshShape &mesh, mlir::Value value, ArrayType wanted);

} // namespace spmdc
