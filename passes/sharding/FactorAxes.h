//===- FactorAxes.h - the axes of an operation's factors --------*- C++ -*-===//
//
// An assignment of axes to the factors of an operation's sharding rule decides how the operation runs on the devices;
// the sharding of each operand and result follows from it. The functions here convert between the two, for strategies.
// Propagation has a projection of its own (passes/propagate/ShardingProjection.h), which also keeps closed dimensions
// and overflow.
//
// Worked example, reshape f32[8, 6] -> f32[2, 4, 6] with factors p = 2, q = 4, r = 6 on a mesh (a=2, b=2): the operand
// sharding [@(a, b), _] gives p: a, q: b; the result's sharding is then [@a, @b, _].
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/ShardingRule.h"
#include "ir/spmd/SpmdTypes.h"

#include <optional>
#include <vector>

namespace spmdc {

using AxisRefs = std::vector<spmd::AxisRef>;

/// Axes of each factor of a rule.
using FactorAxes = std::vector<AxisRefs>;

/// Whether the factor may be sharded: the local operation can run on a part of it.
inline bool canShard(const Factor &factor) {
  return factor.kind != FactorKind::NeedReplication && factor.kind != FactorKind::Permutation;
}

/// The axes that a sharding puts on each factor; axes that no factor can take (they do not divide it, or the factor
/// needs replication) are left out.
FactorAxes projectToFactors(const spmd::MeshShape &mesh, const ShardingRule &rule, const ValueFactors &value,
                            const spmd::Sharding &sharding);

/// The sharding of a value under an assignment; none if no list of axes expresses the shards of a dimension of several
/// factors.
std::optional<spmd::Sharding> shardingOf(const spmd::MeshShape &mesh, const ShardingRule &rule,
                                         const ValueFactors &value, const FactorAxes &axes);

/// True if two axis lists cannot shard one array: they share (a part of) an axis, or have parts that do not fit
/// together.
bool overlap(const AxisRefs &x, const AxisRefs &y);

/// Sorts axes into the mesh's order: unreduced axes have no order, although the sharded dimension that was summed has.
void sortAxes(const spmd::MeshShape &mesh, AxisRefs &axes);

/// Product of the sizes.
int64_t sizeOf(const spmd::MeshShape &mesh, const AxisRefs &axes);

} // namespace spmdc
