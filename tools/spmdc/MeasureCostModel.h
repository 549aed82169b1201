//===- MeasureCostModel.h - a cost model of the running devices -*- C++ -*-===//
#pragma once

#include "passes/cost/CostModel.h"

namespace spmdc {

/// Runs collectives and computation of several sizes on all devices of the job, and fits a model to their times. Each
/// axis of `mesh`, which must have as many devices as the job, is measured separately; a mesh without axes stands for
/// one axis of all devices. All processes must have joined the job, and must call this. Throws spmd::Error if a program
/// fails.
CostModel measureCostModel(const spmd::MeshShape &mesh);

} // namespace spmdc
