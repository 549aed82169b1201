//===- SpmdOps.h - constraints, resharding, collectives ---------*- C++ -*-===//
#pragma once

#include "ir/interfaces/OpInterfaces.h"
#include "ir/spmd/SpmdTypes.h"
#include "runtime/sharding/DimMoves.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace spmdc {

/// How many devices a collective over these axes joins.
double groupSize(MeshAttr mesh, AxesAttr axes);

/// What a device holds of an exchange's source, which is cut in blocks perhaps.
ArrayType getLocalSource(const spmd::MeshShape &mesh, ArrayType source, const std::vector<spmd::DimMove> &moves);

/// What all devices together receive in an exchange because they do not hold it, in bytes; with moves the target is
/// made of the source's elements. No way of bringing one to the other sends less.
double getExchangeBytes(const spmd::MeshShape &mesh, ArrayType source, ArrayType target,
                        const std::vector<spmd::DimMove> &moves = {});

/// Whether an operation stands in what a person wrote for one device of all axes: nothing there has a sharding.
bool isPerDevice(mlir::Operation *op);

/// The mesh without the manual axes of the regions around an operation: what arrays may be cut over there.
spmd::MeshShape getAutomaticMesh(mlir::Operation *op);

} // namespace spmdc

#define GET_OP_CLASSES
#include "ir/spmd/SpmdOps.h.inc"
