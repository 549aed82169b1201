//===- ReshapeExchange.h - any reshape as one exchange ----------*- C++ -*-===//
//
// If the two shardings of a reshape have no factor in common, and shards are no runs of elements (Regrouping.h), each
// element can still be sent directly to the device whose result shard contains it:
//
//   f32[3072@a] as f32[3, 1024@a], a=4    a device holds 3/4 of a row and needs 1/4 of each
//
// No device receives an element that it holds, and each device receives the others once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// Whether the exchange of the reshape from `from` to `to` is small enough to describe and to count
/// (ReshapeExchange.cpp).
bool canExchangeReshape(const spmd::MeshShape &mesh, ArrayType from, ArrayType to);

/// The local shard of `to`, the reshape's result, from the local shard of its operand, which is sharded as `from`.
mlir::Value buildReshapeExchange(mlir::OpBuilder &builder, ReshapeOp op, mlir::Value local, ArrayType from,
                                 ArrayType to, MeshAttr mesh);

} // namespace spmdc
