//===- Plan.cpp - what one device executes --------------------------------===//

#include "runtime/artifact/Plan.h"

namespace spmd {
namespace {

int64_t elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

} // namespace

std::string SourceLocation::str() const {
  if (line == 0)
    return "unknown";
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

int64_t ValueInfo::localBytes() const { return elementCount(localShape) * byteSize(dtype); }

int64_t BufferInfo::bytes() const { return elementCount(shape) * byteSize(dtype); }

} // namespace spmd
