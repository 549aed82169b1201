//===- MemoryUse.cpp - memory of a device while a program runs ------------===//

#include "runtime/artifact/MemoryUse.h"

#include "runtime/support/ArraySize.h"

namespace spmd {
namespace {

int64_t bytesOf(const std::vector<ValueInfo> &values) {
  int64_t bytes = 0;
  for (const ValueInfo &value : values)
    bytes = addSaturated(bytes, value.localBytes());
  return bytes;
}

} // namespace

int64_t MemoryUse::peakBytes() const {
  return addSaturated(addSaturated(arenaBytes, constantBytes), addSaturated(argumentBytes, resultBytes));
}

MemoryUse memoryUseOf(const Artifact &artifact) {
  return {.argumentBytes = bytesOf(artifact.plan.params),
          .resultBytes = bytesOf(artifact.plan.results),
          .arenaBytes = artifact.plan.arenaBytes,
          .constantBytes = static_cast<int64_t>(artifact.constants.size())};
}

} // namespace spmd
