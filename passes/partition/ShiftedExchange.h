//===- ShiftedExchange.h - slices and pads of cut dimensions ----*- C++ -*-===//
//
// An operation that only shifts elements (ShardingRuleOpInterface::getShift) runs under any shardings of its operand
// and its result: each device receives the elements of its piece of the result that its piece of the operand does not
// have. Of a stencil that is the edges.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// Whether such an operation cannot run on the pieces alone: a shifted dimension is cut, or the sharding changes.
bool needsExchange(const ShardingRule &rule, ArrayType from, ArrayType to);

/// The local result. `operands` are the local ones, the first of the global type `from`; the second, if there is one,
/// is the scalar outside of it. Where every device has its whole piece, at the same place, it is a slice.
mlir::Value buildShiftedExchange(mlir::OpBuilder &builder, ShardingRuleOpInterface op, mlir::ValueRange operands,
                                 ArrayType from, MeshAttr mesh);

} // namespace spmdc
