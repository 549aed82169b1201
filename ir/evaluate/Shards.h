//===- Shards.h - global arrays to shards and back --------------*- C++ -*-===//
//
// The local arrays of a sharded type: the shards of a global array, padded to their common shape. Padding is filled
// with poison, so that a program that reads padding by mistake computes a wrong result instead of a right one by luck.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/Tensor.h"
#include "ir/spmd/SpmdTypes.h"

#include <string>
#include <vector>

namespace spmdc {

/// One array per device, in device order.
using DeviceTensors = std::vector<Tensor>;

/// The values in padding. One kind alone lets mistakes slip through (a NaN compares false, a large number is absorbed
/// by a minimum), so tests use both kinds.
enum class Poison {
  Nan,  ///< NaN, the largest integer, true.
  Huge, ///< The largest finite float, the lowest integer (unsigned: 1), false.
};

Scalar getPoison(mlir::Type elementType, Poison poison);

/// Copies a box of `sizes` elements from one array into another of the same rank.
void copyBox(const Tensor &source, llvm::ArrayRef<int64_t> sourceStart, Tensor &target,
             llvm::ArrayRef<int64_t> targetStart, llvm::ArrayRef<int64_t> sizes);

/// The local arrays of a global one under the sharding of `type`. Without a sharding, it is replicated.
DeviceTensors splitIntoShards(const Tensor &global, ArrayType type, const spmd::MeshShape &mesh, Poison poison);

/// The global array with these shards. Fails, with a message in `error`, if two devices that own the same element
/// disagree in any bit, a local array has the wrong shape, or the array is unreduced.
mlir::FailureOr<Tensor> assembleShards(const DeviceTensors &shards, ArrayType type, const spmd::MeshShape &mesh,
                                       std::string &error);

/// True if the bits are equal; all NaNs are equal.
bool isSameScalar(mlir::Type elementType, Scalar a, Scalar b);

} // namespace spmdc
