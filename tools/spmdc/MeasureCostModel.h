//===- MeasureCostModel.h - a cost model of the running devices -*- C++ -*-===//
#pragma once

#include "passes/cost/CostModel.h"

namespace spmdc {

/// Runs collectives and computation of several sizes over all devices of the job, which must have been joined, and fits
/// a model to their times. With axes (`a`, 4; `b`, 2: as many devices as there are) each is measured by itself;
/// without, all devices are one axis. Every process calls it; throws spmd::Error where a program fails.
CostModel measureCostModel(const spmd::MeshShape &mesh);

} // namespace spmdc
