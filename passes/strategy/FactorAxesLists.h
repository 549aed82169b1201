//===- FactorAxesLists.h - ways to cut an operation's factors -------*- C++ -*-===//
#pragma once

#include "passes/sharding/FactorAxes.h"

#include <vector>

namespace spmdc {

/// Assignments that are tried for one operation.
inline constexpr size_t kMaxFactorAxes = 4096;

/// What the shardings around the operation suggest, factor by factor: the result's axes first, then each operand's,
/// then nothing; every combination in which no axis is used twice. Beyond the limit the first ones; nothing cut at all
/// is always the last.
std::vector<FactorAxes> listSuggestedFactorAxes(const spmd::MeshShape &mesh, const ShardingRule &rule,
                                                const std::vector<spmd::Sharding> &operands,
                                                const spmd::Sharding &result);

/// Every assignment of the axes of the mesh, in the coarsest parts that these shardings name, to factors or to none: in
/// every order within a factor, or major to minor as in the mesh where these are beyond the limit, or none at all where
/// even those are, or the parts of axes have no common parts. None cuts a factor into more pieces than it has elements.
std::vector<FactorAxes> listAllFactorAxes(const spmd::MeshShape &mesh, const ShardingRule &rule,
                                          const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result);

} // namespace spmdc
