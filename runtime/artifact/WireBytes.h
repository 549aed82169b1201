//===- WireBytes.h - bytes that collectives send ----------------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

namespace spmd {

/// Returns the bytes that one device sends for a bandwidth-optimal algorithm, averaged over the devices if they differ:
/// the figure of `inspect --json`.
double wireBytesPerDevice(const CollectiveDesc &desc, const MeshShape &mesh);

/// Returns the bytes of all collectives in one run of the plan. The number of iterations of a `while` is unknown, so
/// its body counts once. Of an if the branch that sends more counts, so the figure is an upper bound over branches.
double wireBytesPerDevice(const Plan &plan);

} // namespace spmd
