//===- CollectiveIdentity.cpp - description and hash of calls -------------===//

#include "runtime/collective/CollectiveIdentity.h"
#include "runtime/artifact/PlanFields.h"
#include "runtime/artifact/PlanPrinter.h"
#include "runtime/collective/Reduce.h"

namespace spmd {
namespace {

class Hash {
public:
  void add(uint64_t value) {
    // splitmix64's mixing of a running sum.
    state += value + 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    state = z ^ (z >> 31);
  }
  void add(const std::string &text) {
    add(text.size());
    for (char c : text)
      add(static_cast<unsigned char>(c));
  }
  void add(const std::vector<int64_t> &shape) {
    add(shape.size());
    for (int64_t size : shape)
      add(static_cast<uint64_t>(size));
  }
  void add(const std::vector<AxisRef> &axes) {
    add(axes.size());
    for (const AxisRef &axis : axes)
      add(axis.str());
  }
  void add(const Sharding &sharding) {
    add(sharding.dims.size());
    for (const auto &axes : sharding.dims)
      add(axes);
    add(sharding.unreduced);
  }
  uint64_t state = 0;
};

} // namespace

std::string describeCollective(const CollectiveDesc &desc) {
  std::string text(plan_fields::collectiveNames[static_cast<size_t>(desc.kind)]);
  if (desc.kind == CollectiveKind::AllReduce || desc.kind == CollectiveKind::ReduceScatter)
    text += std::string(" ") + reductionName(desc.reduction);
  text += " " + typeText(desc.dtype, desc.operandShape);
  if (desc.kind == CollectiveKind::Exchange)
    return text + " from " + desc.source.str() + " to " + desc.target.str() +
           (desc.targetShape.empty() ? "" : " as " + typeText(desc.dtype, desc.targetShape));
  text += " over (";
  for (size_t i = 0; i < desc.axes.size(); ++i)
    text += (i ? ", " : "") + desc.axes[i].str();
  bool hasRoot = desc.kind == CollectiveKind::CollectiveBroadcast;
  return text + ")" + (hasRoot ? " from position " + std::to_string(desc.root) : "");
}

uint64_t fingerprintCollective(const MeshShape &mesh, const CollectiveDesc &desc) {
  Hash hash;
  for (const MeshAxis &axis : mesh.axes) {
    hash.add(axis.name);
    hash.add(static_cast<uint64_t>(axis.size));
  }
  hash.add(static_cast<uint64_t>(desc.kind));
  hash.add(static_cast<uint64_t>(desc.reduction));
  hash.add(static_cast<uint64_t>(desc.dtype));
  hash.add(desc.axes);
  hash.add(desc.operandShape);
  hash.add(desc.resultShape);
  hash.add(static_cast<uint64_t>(desc.splitDim));
  hash.add(static_cast<uint64_t>(desc.concatDim));
  hash.add(static_cast<uint64_t>(desc.root));
  for (auto [source, target] : desc.pairs) {
    hash.add(static_cast<uint64_t>(source));
    hash.add(static_cast<uint64_t>(target));
  }
  hash.add(desc.globalShape);
  hash.add(desc.source);
  hash.add(desc.target);
  hash.add(desc.targetShape);
  for (const DimMove &move : desc.moves)
    hash.add(std::vector<int64_t>{move.shift, move.stride, move.begin, move.end, move.length, move.step, move.base,
                                  move.block, move.wraps, move.dilation});
  return hash.state;
}

} // namespace spmd
