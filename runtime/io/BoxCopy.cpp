//===- BoxCopy.cpp - copying a box of a row-major array -------------------===//

#include "runtime/io/BoxCopy.h"

#include <cstring>

namespace spmd {

void copyBox(int64_t elementBytes, const std::vector<int64_t> &extent, const void *source,
             const std::vector<int64_t> &sourceShape, const std::vector<int64_t> &sourceStart, void *target,
             const std::vector<int64_t> &targetShape, const std::vector<int64_t> &targetStart) {
  if (elementCount(extent) == 0)
    return;
  // The longest run that is contiguous in both: trailing dimensions that the box fills, and one more.
  size_t runDim = extent.size();
  int64_t run = elementBytes;
  while (runDim > 0) {
    --runDim;
    run *= extent[runDim];
    if (extent[runDim] != sourceShape[runDim] || extent[runDim] != targetShape[runDim])
      break;
  }
  auto offsetOf = [&](const std::vector<int64_t> &shape, const std::vector<int64_t> &start,
                      const std::vector<int64_t> &index) {
    int64_t offset = 0;
    for (size_t d = 0; d < extent.size(); ++d)
      offset = offset * shape[d] + start[d] + index[d];
    return offset * elementBytes;
  };
  std::vector<int64_t> index(extent.size());
  while (true) {
    std::memcpy(static_cast<char *>(target) + offsetOf(targetShape, targetStart, index),
                static_cast<const char *>(source) + offsetOf(sourceShape, sourceStart, index),
                static_cast<size_t>(run));
    size_t d = runDim;
    while (d > 0 && ++index[d - 1] == extent[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

std::vector<int64_t> startsOf(const std::vector<ShardRange> &ranges) {
  std::vector<int64_t> starts;
  for (const ShardRange &range : ranges)
    starts.push_back(range.start);
  return starts;
}

std::vector<int64_t> sizesOf(const std::vector<ShardRange> &ranges) {
  std::vector<int64_t> sizes;
  for (const ShardRange &range : ranges)
    sizes.push_back(range.size);
  return sizes;
}

int64_t elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

} // namespace spmd
