//===- RandomSharding.h - random meshes and shardings -----------*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdTypes.h"
#include "tests/programs/support/Random.h"

namespace spmdc {

/// One to three axes, one to eight devices; axes of size 1 and 3 too.
MeshAttr randomMesh(Random &random, mlir::MLIRContext *context);

/// Axes, and parts of axes, on random dimensions, whether or not they divide the sizes. Closed in every dimension;
/// with `mayBeOpen` some dimensions are open.
ShardingAttr randomSharding(Random &random, MeshAttr mesh, llvm::ArrayRef<int64_t> shape, bool mayBeOpen);

} // namespace spmdc
