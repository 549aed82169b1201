//===- SpmdOps.h - constraints, resharding, collectives ---------*- C++ -*-===//
#pragma once

#include "ir/interfaces/OpInterfaces.h"
#include "ir/spmd/SpmdTypes.h"
#include "runtime/sharding/DimMoves.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace spmdc {

/// The number of devices in a group over these axes.
double groupSize(MeshAttr mesh, AxesAttr axes);

/// The per-device type of the source of an exchange with these moves. A move with a `block` shards its dimension in
/// full blocks.
ArrayType getLocalSource(const spmd::MeshShape &mesh, ArrayType source, const std::vector<spmd::DimMove> &moves);

/// The bytes of `target` that all devices together need and do not hold in `source`: a lower bound for every reshard
/// between the two. With moves, the target consists of elements of the source.
double getExchangeBytes(const spmd::MeshShape &mesh, ArrayType source, ArrayType target,
                        const std::vector<spmd::DimMove> &moves = {});

/// True if an operation is in a region that is manual along all axes: no type there has a sharding.
bool isPerDevice(mlir::Operation *op);

/// The mesh without the manual axes of the regions around an operation: the axes over which arrays may be sharded
/// there.
spmd::MeshShape getAutomaticMesh(mlir::Operation *op);

} // namespace spmdc

#define GET_OP_CLASSES
#include "ir/spmd/SpmdOps.h.inc"
