//===- BoxBuilder.cpp - boxes with few loops and long runs ----------------===//

#include "runtime/collective/BoxBuilder.h"

namespace spmd {

Box makeBox(int64_t peer, int64_t elementBytes, int64_t sourceOffset, int64_t targetOffset, const BoxLoops &loops) {
  Box box;
  box.source = peer;
  box.sourceOffset = sourceOffset;
  box.targetOffset = targetOffset;
  box.runBytes = elementBytes;
  size_t inner = loops.counts.size();
  // Inner loops over elements that are contiguous on both sides become part of the run.
  while (inner > 0 && (loops.counts[inner - 1] == 1 || (loops.sourceStrides[inner - 1] == box.runBytes &&
                                                        loops.targetStrides[inner - 1] == box.runBytes))) {
    box.runBytes *= loops.counts[inner - 1];
    --inner;
  }
  for (size_t d = 0; d < inner; ++d) {
    int64_t count = loops.counts[d];
    if (count == 1)
      continue;
    // A loop that continues where the next inner loop ends is merged with it.
    if (!box.counts.empty() && box.sourceStrides.back() == count * loops.sourceStrides[d] &&
        box.targetStrides.back() == count * loops.targetStrides[d]) {
      box.counts.back() *= count;
      box.sourceStrides.back() = loops.sourceStrides[d];
      box.targetStrides.back() = loops.targetStrides[d];
      continue;
    }
    box.counts.push_back(count);
    box.sourceStrides.push_back(loops.sourceStrides[d]);
    box.targetStrides.push_back(loops.targetStrides[d]);
  }
  return box;
}

} // namespace spmd
