//===- RunColumns.h - what the processes of a run have in common -*- C++ -*-===//
//
// Compared when they join.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"
#include "runtime/runner/RunChecks.h"

namespace spmd {

/// What makes a run what it is, but for its program.
std::vector<JoinColumn> columnsOf(const RunOptions &options, const Plan &plan, bool isProfiled);

/// JoinOptions::programDetails of a compiled program: the lines of its source that it knows, the plan, and the digest
/// of its kernels' code.
std::vector<JoinColumn> detailsOf(const Artifact &artifact);

} // namespace spmd
