//===- FactorAxesLists.h - lists of factor assignments ----------*- C++ -*-===//
#pragma once

#include "passes/sharding/FactorAxes.h"

#include <vector>

namespace spmdc {

/// The largest number of assignments that are listed for one operation.
inline constexpr size_t kMaxFactorAxes = 4096;

/// The assignments that the shardings around the operation suggest. For each factor: the axes that the result has on
/// it, then those of each operand, then none; every combination in which no axis is used twice. At most kMaxFactorAxes;
/// the last one has no axes at all.
std::vector<FactorAxes> listSuggestedFactorAxes(const spmd::MeshShape &mesh, const ShardingRule &rule,
                                                const std::vector<spmd::Sharding> &operands,
                                                const spmd::Sharding &result);

/// Every assignment of the axes of the mesh, divided into the coarsest parts that these shardings name, to factors or
/// to none. Includes every sequence of axes within a factor; if these exceed kMaxFactorAxes, only the mesh's sequence,
/// major to minor; empty if even those exceed it, or the parts of axes have no common refinement. No assignment makes
/// more shards of a factor than it has elements.
std::vector<FactorAxes> listAllFactorAxes(const spmd::MeshShape &mesh, const ShardingRule &rule,
                                          const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result);

} // namespace spmdc
