//===- DifferentiableFunction.h - random functions with a gradient -*- C++ -*-===//
#pragma once

#include "runtime/sharding/Sharding.h"
#include "tests/programs/generator/Random.h"

#include <string>
#include <vector>

namespace spmdc {

/// `fn %F(p) { ... return sum(v); }` of one array of floats, smooth everywhere: steps that change what they have got,
/// in loops and branches, under checkpoint and on pieces of shard_map. `%F` stands for its name; functions that it
/// calls come first, with names that begin with it.
struct DifferentiableFunction {
  std::string text;
  double slope = 1;     ///< No derivative is larger, for elements of at most 4.
  double curvature = 1; ///< Nor does one change faster.
  double value = 0;     ///< Nor is the value.
  int steps = 0;
};

/// `mesh`: for shard_map; none without axes.
DifferentiableFunction makeDifferentiable(Random &random, const std::vector<int64_t> &shape,
                                          const spmd::MeshShape &mesh);

} // namespace spmdc
