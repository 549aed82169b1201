//===- NanAgreement.cpp - agreement of devices about a NaN ----------------===//

#include "runtime/exec/NanAgreement.h"

#include <algorithm>
#include <cstring>

namespace spmd {
namespace {

/// Returns an all_reduce of the maximum over all devices of the mesh.
CollectiveDesc maximumOf(const MeshShape &mesh, DType dtype, int64_t count) {
  CollectiveDesc desc;
  desc.kind = CollectiveKind::AllReduce;
  desc.reduction = ReductionKind::Max;
  desc.dtype = dtype;
  desc.operandShape = desc.resultShape = {count};
  for (const MeshAxis &axis : mesh.axes)
    desc.axes.push_back({axis.name, 1, 0});
  return desc;
}

} // namespace

NanAgreement::NanAgreement(CommunicatorEndpoint &endpoint, const MeshShape &mesh, int64_t position, CallSite site)
    : deviceCount(mesh.deviceCount()), position(position), ownText(kTextBytes), agreedText(kTextBytes) {
  site.name = "the NaN check at " + site.name;
  rank = endpoint.prepare(mesh, maximumOf(mesh, DType::I64, 1), site);
  text = endpoint.prepare(mesh, maximumOf(mesh, DType::U8, static_cast<int64_t>(kTextBytes)), site);
}

std::optional<NanAgreement::Answer> NanAgreement::agree(const std::optional<NanCheck::Finding> &found,
                                                        const std::string &message) {
  // Ranks the devices: one that made a NaN before one that received it, then by their order in the mesh; 0: no NaN.
  int64_t own = 0, best = 0;
  if (found)
    own = (found->isForeign ? 0 : deviceCount) + deviceCount - position;
  rank->start(&own, &best);
  rank->done();
  if (best == 0)
    return std::nullopt;
  // The maximum of one text and of zeros is that text.
  std::fill(ownText.begin(), ownText.end(), '\0');
  if (own == best) {
    size_t length = std::min(message.size(), kTextBytes - 1);
    std::memcpy(ownText.data(), message.data() + (message.size() - length), length);
  }
  text->start(ownText.data(), agreedText.data());
  text->done();
  return Answer{(2 * deviceCount - best) % deviceCount, agreedText.data()};
}

} // namespace spmd
