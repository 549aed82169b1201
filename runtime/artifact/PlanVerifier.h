//===- PlanVerifier.h - checks of a plan before it runs ---------*- C++ -*-===//
//
// Checks the properties on which the executor relies without checking them again. They are checked when an artifact is
// loaded; the compiler also checks a plan after writing it:
//
//   P1  mesh: unique axis names, sizes of at least 1, at most 2^24 devices.
//   P2  values: no size negative or overflowing; every sharding axis (or part of one) is of the mesh and used once;
//       the local shape is the one that nested ceilings (Sharding.h) give.
//   P3  buffers: argument and result numbers exist; offsets are aligned to the element and, with the size, stay within
//       the value, the arena or the constants.
//   P4  steps: kernels and buffers exist; nothing writes to constants by copy, matmul or collective; sizes of copies
//       and matrix products fit; predicates are one bool; nesting is bounded.
//   P5  collectives: shapes follow from one another by nested ceilings over the axes; ids grow in program order; each
//       start has its done in the same block, and a done its start.
//   P6  aliases: one per parameter, of results that exist, each result at most once, of the same size.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

namespace spmd {

/// Throws spmd::Error: one sentence that names the step or buffer, its source location, and both values.
/// `constantBytes` is the size of the plan's constants.
void verifyPlan(const Plan &plan, size_t constantBytes);
inline void verifyPlan(const Artifact &artifact) { verifyPlan(artifact.plan, artifact.constants.size()); }

} // namespace spmd
