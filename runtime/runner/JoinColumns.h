//===- JoinColumns.h - what all processes must share ------------*- C++ -*-===//
//
// The processes compare these when they join.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"
#include "runtime/runner/OptionChecks.h"

namespace spmd {

/// Returns everything that defines a run, except its program.
std::vector<JoinColumn> columnsOf(const RunOptions &options, const Plan &plan, bool isProfiled);

/// Returns JoinOptions::programDetails of a compiled program: the lines of its source that it contains, the plan, and
/// the digest of its kernels' code.
std::vector<JoinColumn> detailsOf(const Artifact &artifact);

} // namespace spmd
