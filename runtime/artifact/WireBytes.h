//===- WireBytes.h - what a collective sends --------------------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

namespace spmd {

/// The bytes that one device sends, for a bandwidth-optimal algorithm, averaged over the devices where they differ: the
/// figure of `inspect --json`.
double wireBytesPerDevice(const CollectiveDesc &desc, const MeshShape &mesh);

/// Of all collectives of one run of the plan. Iterations of a `while` are known to nobody and count once; of a branch
/// the arm counts that sends more, so that where a branch is in question this is a bound.
double wireBytesPerDevice(const Plan &plan);

} // namespace spmd
