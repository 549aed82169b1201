//===- WireBytes.cpp - bytes that collectives send ------------------------===//

#include "runtime/artifact/WireBytes.h"

#include "runtime/sharding/RingBytes.h"

#include <algorithm>

namespace spmd {

double wireBytesPerDevice(const CollectiveDesc &desc, const MeshShape &mesh) {
  auto bytesOf = [&](const std::vector<int64_t> &shape) {
    double bytes = static_cast<double>(byteSize(desc.dtype));
    for (int64_t size : shape)
      bytes *= static_cast<double>(size);
    return bytes;
  };
  double group = 1;
  for (const AxisRef &axis : desc.axes)
    group *= static_cast<double>(axis.sizeIn(mesh));
  switch (desc.kind) {
  case CollectiveKind::AllReduce:
    return allReduceBytes(group, bytesOf(desc.operandShape));
  case CollectiveKind::AllGather:
    return gatherBytes(group, bytesOf(desc.resultShape));
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return gatherBytes(group, bytesOf(desc.operandShape));
  case CollectiveKind::CollectivePermute: {
    double senders = 0;
    for (auto [source, target] : desc.pairs)
      senders += source != target;
    return senders / group * bytesOf(desc.operandShape);
  }
  case CollectiveKind::CollectiveBroadcast:
    return broadcastBytes(group, bytesOf(desc.operandShape));
  case CollectiveKind::Exchange:
    return missingElements(mesh, {desc.globalShape, desc.source}, {desc.getTargetShape(), desc.target}, desc.moves) *
           static_cast<double>(byteSize(desc.dtype)) / static_cast<double>(mesh.deviceCount());
  }
  return 0;
}

namespace {

double sentBy(const std::vector<Step> &steps, const MeshShape &mesh) {
  double bytes = 0;
  for (const Step &step : steps) {
    if (const auto *start = std::get_if<CollectiveStartStep>(&step.op))
      bytes += wireBytesPerDevice(start->desc, mesh);
    else if (const auto *branch = std::get_if<IfStep>(&step.op))
      bytes += std::max(sentBy(branch->thenSteps, mesh), sentBy(branch->elseSteps, mesh));
    else if (const auto *loop = std::get_if<WhileStep>(&step.op))
      bytes += sentBy(loop->condition, mesh) + sentBy(loop->body, mesh);
    else if (const auto *counted = std::get_if<ForStep>(&step.op); counted && counted->upper > counted->lower)
      bytes +=
          sentBy(counted->body, mesh) * (static_cast<double>(counted->upper) - static_cast<double>(counted->lower));
  }
  return bytes;
}

} // namespace

double wireBytesPerDevice(const Plan &plan) { return sentBy(plan.steps, plan.mesh); }

} // namespace spmd
