//===- FactorAxes.cpp - the axes of an operation's factors ----------------===//

#include "passes/sharding/FactorAxes.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace spmdc {

void sortAxes(const spmd::MeshShape &mesh, AxisRefs &axes) {
  llvm::sort(axes, [&](const spmd::AxisRef &x, const spmd::AxisRef &y) {
    return std::pair(mesh.indexOf(x.name), x.preSize) < std::pair(mesh.indexOf(y.name), y.preSize);
  });
}

int64_t sizeOf(const spmd::MeshShape &mesh, const AxisRefs &axes) {
  int64_t size = 1;
  for (const spmd::AxisRef &axis : axes)
    size *= axis.sizeIn(mesh);
  return size;
}

/// Whether one array can be sharded over both: they are of different axes, or parts of one split of an axis. For an
/// axis of 6, a:(1)2 and a:(3)2 are not, although they share no digit: one is a half, the other the last half of a
/// third.
static bool fitTogether(const spmd::AxisRef &x, const spmd::AxisRef &y) {
  if (x.name != y.name)
    return true;
  if (x.isFullAxis() || y.isFullAxis())
    return false;
  return y.preSize % (x.preSize * x.size) == 0 || x.preSize % (y.preSize * y.size) == 0;
}

bool overlap(const AxisRefs &x, const AxisRefs &y) {
  for (const spmd::AxisRef &left : x)
    for (const spmd::AxisRef &right : y)
      if (!fitTogether(left, right))
        return true;
  return false;
}

namespace {

/// Splits the major part of this size off an axis, and returns it; the rest stays in `axis`.
spmd::AxisRef takeMajor(const spmd::MeshShape &mesh, spmd::AxisRef &axis, int64_t size) {
  int64_t whole = axis.sizeIn(mesh);
  spmd::AxisRef major{axis.name, axis.preSize, size};
  axis = {axis.name, axis.preSize * size, whole / size};
  return major;
}

} // namespace

FactorAxes projectToFactors(const spmd::MeshShape &mesh, const ShardingRule &rule, const ValueFactors &value,
                            const spmd::Sharding &sharding) {
  FactorAxes result(rule.factors.size());
  for (size_t d = 0; d < value.size() && d < sharding.dims.size(); ++d) {
    const DimFactors &factors = value[d];
    if (factors.empty())
      continue;
    if (factors.size() == 1) {
      if (canShard(rule.factors[factors[0]]))
        result[factors[0]] = sharding.dims[d];
      continue;
    }
    // The major factor takes axes until it is full; an axis that does not divide the rest of the factor ends the
    // dimension.
    size_t next = 0;
    int64_t left = rule.factors[factors[0]].size;
    for (spmd::AxisRef axis : sharding.dims[d]) {
      bool isPlaced = true;
      while (isPlaced && axis.sizeIn(mesh) > 1) {
        while (left == 1 && next + 1 < factors.size())
          left = rule.factors[factors[++next]].size;
        int64_t size = axis.sizeIn(mesh), taken = std::gcd(left, size);
        // A part may be taken only if the axis continues in the next factor, which needs this one to be full.
        isPlaced = canShard(rule.factors[factors[next]]) && (taken == size || (taken == left && taken > 1));
        if (!isPlaced)
          break;
        left /= taken;
        if (taken == size) {
          result[factors[next]].push_back(axis);
          break;
        }
        result[factors[next]].push_back(takeMajor(mesh, axis, taken));
      }
      if (!isPlaced)
        break;
    }
  }
  return result;
}

std::optional<spmd::Sharding> shardingOf(const spmd::MeshShape &mesh, const ShardingRule &rule,
                                         const ValueFactors &value, const FactorAxes &axes) {
  spmd::Sharding sharding;
  for (const DimFactors &factors : value) {
    AxisRefs &dim = sharding.dims.emplace_back();
    bool isFull = true; // Every factor so far is sharded into single elements.
    for (int64_t factor : factors) {
      if (axes[factor].empty()) {
        isFull = isFull && rule.factors[factor].size == 1;
        continue;
      }
      int64_t shards = sizeOf(mesh, axes[factor]), size = rule.factors[factor].size;
      if (factors.size() > 1 && (!isFull || size % shards != 0))
        return std::nullopt;
      isFull = shards == size;
      for (const spmd::AxisRef &axis : axes[factor]) {
        // Parts of an axis are merged only if they divide the factor, since merging would otherwise change the shards.
        bool continues = size % shards == 0 && !dim.empty() && dim.back().name == axis.name &&
                         !dim.back().isFullAxis() && !axis.isFullAxis() &&
                         dim.back().preSize * dim.back().size == axis.preSize;
        if (continues)
          dim.back().size *= axis.size;
        else
          dim.push_back(axis);
        if (dim.back().preSize == 1 && dim.back().size == mesh.axes[mesh.indexOf(axis.name)].size)
          dim.back().size = 0;
      }
    }
  }
  return sharding;
}

} // namespace spmdc
