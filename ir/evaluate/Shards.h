//===- Shards.h - cutting arrays into device pieces and joining them -*- C++ -*-===//
//
// What lies on each device for a sharded type: the pieces of a global array, padded to their common shape. Padding is
// filled with poison, so that a program that reads it and should not have gives a wrong answer instead of a lucky one.
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

/// What padding holds. One kind alone lets mistakes slip through (a NaN compares false, a large number is absorbed by
/// a minimum), so tests use both.
enum class Poison {
  Nan,  ///< NaN, the largest integer, true.
  Huge, ///< The largest finite float, the lowest integer (unsigned: 1), false.
};

Scalar getPoison(mlir::Type elementType, Poison poison);

/// Copies a box of `sizes` elements from one array into another of the same rank.
void copyBox(const Tensor &source, llvm::ArrayRef<int64_t> sourceStart, Tensor &target,
             llvm::ArrayRef<int64_t> targetStart, llvm::ArrayRef<int64_t> sizes);

/// The local arrays of a global one, laid out as `type`'s sharding says. Without a sharding every device has all.
DeviceTensors cutIntoShards(const Tensor &global, ArrayType type, const spmd::MeshShape &mesh, Poison poison);

/// The global array whose pieces these are. Fails, and says why in `error`, where two devices that own the same
/// element disagree in any bit, where a local array has the wrong shape, and where the array is unreduced.
mlir::FailureOr<Tensor> joinShards(const DeviceTensors &shards, ArrayType type, const spmd::MeshShape &mesh,
                                   std::string &error);

/// Same bits (all NaNs are one).
bool isSameScalar(mlir::Type elementType, Scalar a, Scalar b);

} // namespace spmdc
