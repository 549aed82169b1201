//===- CpuFeatures.h - does this CPU run that code? -------------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <string>
#include <vector>

namespace spmd {

/// Those of LLVM's feature names (with or without a leading `+`) that this machine lacks. Names that do not change
/// which instructions are emitted (tuning) are not looked at.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features);

/// Throws spmd::Error, which names what is missing, if code for this target cannot run here.
void checkTarget(const TargetInfo &target);

} // namespace spmd
