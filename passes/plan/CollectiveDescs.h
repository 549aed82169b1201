//===- CollectiveDescs.h - descriptions of collectives ----------*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "runtime/artifact/Plan.h"

namespace spmdc {

/// Returns the plan's description of a collective; emits an error for other operations.
mlir::FailureOr<spmd::CollectiveDesc> describeCollective(CollectiveOpInterface op);

} // namespace spmdc
