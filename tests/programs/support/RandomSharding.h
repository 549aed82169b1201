//===- RandomSharding.h - random shardings of values ------------*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdTypes.h"
#include "tests/programs/generator/Random.h"

namespace spmdc {

/// Returns a sharding with axes, and parts of axes, on random dimensions, whether or not they divide the sizes. Closed
/// in every dimension.
ShardingAttr randomSharding(Random &random, MeshAttr mesh, llvm::ArrayRef<int64_t> shape);

} // namespace spmdc
