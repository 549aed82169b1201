//===- DifferentiableFunction.h - random functions with a gradient -*- C++ -*-===//
#pragma once

#include "runtime/sharding/Sharding.h"
#include "tests/programs/generator/Random.h"

#include <string>
#include <vector>

namespace spmdc {

/// `fn %F(p) { ... return sum(v); }` of one array of floats, smooth everywhere: a sequence of steps, in loops and
/// branches, under checkpoint and on shards in shard_map. `%F` stands for its name; functions that it calls come first,
/// with names that begin with it.
struct DifferentiableFunction {
  std::string text;
  double slope = 1;     ///< An upper bound of all derivatives, for elements of at most 4.
  double curvature = 1; ///< An upper bound of all second derivatives.
  double value = 0;     ///< An upper bound of the value.
  int steps = 0;
};

/// `mesh`: for shard_map; without axes, no shard_map is generated.
DifferentiableFunction makeDifferentiable(Random &random, const std::vector<int64_t> &shape,
                                          const spmd::MeshShape &mesh);

} // namespace spmdc
