//===- CpuFeatures.h - can this CPU run the code? ---------------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <string>
#include <vector>

namespace spmd {

/// Returns those of LLVM's feature names (with or without a leading `+`) that this machine lacks. Ignores names that
/// only affect tuning.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features);

/// Throws spmd::Error that names the missing features if code for this target cannot run here.
void checkTarget(const TargetInfo &target);

} // namespace spmd
