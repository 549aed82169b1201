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

/// The local array of an exchange's source, which may be sharded in blocks.
ArrayType getLocalSource(const spmd::MeshShape &mesh, ArrayType source, const std::vector<spmd::DimMove> &moves);

/// The bytes that all devices together receive in an exchange because they do not hold them; with moves, the target
/// consists of elements of the source. No reshard between the two sends less.
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
