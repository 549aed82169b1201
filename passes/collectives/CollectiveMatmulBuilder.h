//===- CollectiveMatmulBuilder.h - emits a collective matmul ----*- C++ -*-===//
#pragma once

#include "passes/collectives/CollectiveMatmulMatch.h"

namespace spmdc {

/// Replaces a collective and its product by the steps of a collective matmul. `way`: the directions of the ring. Two
/// directions need three devices.
///
/// With one direction, the device at position p multiplies in step s of a gather with the shard of position p + s, and
/// sends it to position p - 1. With two directions, the shards of positions p - 1, p - 2, ... arrive from the other
/// side. In a scatter, the partial sum for a position starts at the farthest device on each side of it, and each device
/// on the path adds its own. Partial sums of f16 and bf16 are sent directly to the device that adds them.
///
/// The steps in the middle are a loop with two steps in each iteration, so that a value received in one step is sent in
/// the next without a copy: the program is as long for 4,096 devices as for eight. Direct transfers are not in a loop.
void replaceByCollectiveMatmul(const CollectiveMatmul &ring, RingDirections way);

} // namespace spmdc
