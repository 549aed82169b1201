//===- CollectiveDescs.h - collectives as the runtime reads them -*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "runtime/artifact/Plan.h"

namespace spmdc {

/// The description of a collective that the plan carries.
mlir::FailureOr<spmd::CollectiveDesc> describeCollective(CollectiveOpInterface op);

} // namespace spmdc
