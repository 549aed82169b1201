//===- CollectiveMatmulBuilder.h - a product piece by piece -----------------*- C++ -*-===//
#pragma once

#include "passes/collectives/CollectiveMatmulMatch.h"

namespace spmdc {

/// Puts the steps of a ring in the place of its collective and its product. Both ways need three devices.
///
/// One way, piece s of a gather is that of position p + s, and goes to the neighbour before; both ways, those of
/// positions p - 1, p - 2, ... come from the other side. In a scatter the partial sum that ends at a position starts at
/// the farthest one on each side of it, and each on its way adds its own; those of f16 and bf16 go straight there.
///
/// The steps in the middle are a loop, two of them in each iteration, so that what comes in one goes out of the next
/// without a copy: the program is as long for 4,096 devices as for eight. What goes straight is no loop.
void replaceByCollectiveMatmul(const CollectiveMatmul &ring, CollectiveMatmulKind way);

} // namespace spmdc
