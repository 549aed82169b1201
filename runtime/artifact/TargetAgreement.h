//===- TargetAgreement.h - one program for several targets ------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <string>
#include <vector>

namespace spmd {

/// Compares what callers see of two plans: name, mesh, parameters and results. Returns the first difference, as a
/// clause of a sentence (`result 0 is f32[8] @ P(a) for cpu:znver4 and f32[8] @ P() for cuda:sm_90`); empty if there is
/// none.
std::string findDisagreement(const Plan &first, const Plan &second);

/// Returns `cpu:znver4, cuda:sm_80 and cuda:sm_90`.
std::string targetList(const std::vector<TargetInfo> &targets);

} // namespace spmd
