//===- ReshapeExchange.h - any reshape as one exchange ----------*- C++ -*-===//
//
// Where no factor of the shapes is cut alike, nor devices have runs (Regrouping.h), each element of a reshape can still
// go straight to who wants it:
//
//   f32[3072@a] as f32[3, 1024@a], a=4    a device has three quarters of a row and wants a quarter of each
//
// That sends no element that a device has, and each other one once to whoever wants it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// Whether the exchange can be described and counted without effort, if the reshape takes one to the other.
bool canExchangeReshape(const spmd::MeshShape &mesh, ArrayType from, ArrayType to);

/// The local piece of `to`, the reshape's result, from that of its operand, which lies as `from`.
mlir::Value buildReshapeExchange(mlir::OpBuilder &builder, ReshapeOp op, mlir::Value local, ArrayType from,
                                 ArrayType to, MeshAttr mesh);

} // namespace spmdc
