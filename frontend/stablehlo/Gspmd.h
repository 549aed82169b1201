//===- Gspmd.h - shardings in the form of GSPMD -----------------*- C++ -*-===//
//
// Exports before Shardy write a sharding as an arrangement of device numbers, without names of axes:
//
//   {devices=[4,1,2]<=[8] last_tile_dim_replicate}   4 parts of the first dimension, each on 2 devices
//   {devices=[2,4]<=[4,2]T(1,0)}                     2 x 4 parts, on devices in column-major order
//
// The mesh is the smallest one that has an axis for each part: here "axis0" of 4 and "axis1" of 2 devices.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/Translation.h"

namespace spmdc::stablehlo {

/// Devices whose numbers differ by multiples of `stride`: `size` of them.
struct DeviceFactor {
  int64_t stride, size;
};

/// A sharding of GSPMD: the factors of the devices by which each dimension is divided, major ones first.
struct Tiling {
  llvm::SmallVector<llvm::SmallVector<DeviceFactor>> dims; ///< Empty if the array is replicated.
  llvm::SmallVector<DeviceFactor> rest;                    ///< Of the devices that hold the same part.
  int64_t devices = 1;
  bool isReplicated = false;
};

/// Reads the text of a sharding. Otherwise `error` says what is not supported.
std::optional<Tiling> parseTiling(llvm::StringRef text, std::string &error);

/// The mesh for all shardings of a module (attributes `mhlo.sharding`), without axes if none divides an array. Fails
/// with a message if there is none.
mlir::FailureOr<spmd::MeshShape> meshOfTilings(mlir::ModuleOp module);

/// The sharding of an array as axes of that mesh; the dimensions in `open` are open. Fails with a message.
mlir::FailureOr<ShardingAttr> shardingOfTiling(Translation &t, mlir::Operation *op, llvm::StringRef text,
                                               llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> open = {});

} // namespace spmdc::stablehlo
