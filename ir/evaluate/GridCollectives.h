//===- GridCollectives.h - reference evaluation of collectives --*- C++ -*-===//
//
// The local array of every device after a collective, given those before. One process holds the arrays of all devices,
// and nothing is sent. Definitions are those of the spmd dialect (shards by nested ceilings over the axes,
// runtime/sharding/Sharding.h) and of the runtime (reductions combine in a balanced tree over group positions, half
// precision in f32).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/evaluate/Shards.h"

#include "mlir/IR/Operation.h"

namespace spmdc {

/// The results of a collective of the spmd dialect (all_slice included) with these operands; elements that no device
/// defines are poison. Fails with a diagnostic if the operation is not a collective, an exchange needs an element that
/// no device of the group has, or the devices of a group do not name one common root.
mlir::FailureOr<DeviceTensors> evaluateCollective(mlir::Operation *op, const spmd::MeshShape &mesh,
                                                  llvm::ArrayRef<DeviceTensors> operands, Poison poison);

/// The combination of these arrays in a balanced binary tree, split at the largest power of two below their number.
Tensor reduceInTree(ReductionKind kind, llvm::ArrayRef<const Tensor *> operands);

/// The range of a dimension of n elements that a device owns over these axes.
spmd::ShardRange getOwnedRange(const spmd::MeshShape &mesh, llvm::ArrayRef<spmd::AxisRef> axes, int64_t device,
                               int64_t n);

} // namespace spmdc
