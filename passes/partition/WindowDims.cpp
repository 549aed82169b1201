//===- WindowDims.cpp - what devices look at of a dimension ---------------===//

#include "passes/partition/WindowDims.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace spmdc {
namespace {

using Range = WindowDim::Range;

Range unite(const Range &a, const Range &b) {
  if (a.isEmpty() || b.isEmpty())
    return a.isEmpty() ? b : a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

int64_t getAnyElement(const WindowDim &dim) {
  return std::find_if(dim.looked.begin(), dim.looked.end(), [](const Range &range) { return !range.isEmpty(); })->begin;
}

} // namespace

std::optional<CutDim> getCutDim(const spmd::MeshShape &mesh, ArrayType type, int64_t dim) {
  spmd::Sharding sharding = type.getShardingOrOpen().toValue();
  CutDim cut{type.getDimSize(dim)};
  std::vector<int64_t> sizes;
  for (const spmd::AxisRef &axis : sharding.dims[dim]) {
    sizes.push_back(axis.sizeIn(mesh));
    cut.pieces *= sizes.back();
  }
  cut.piece = spmd::localDimSize(cut.size, sizes);
  if (sizes.size() > 1 && cut.size != cut.pieces * cut.piece)
    return std::nullopt;
  return cut;
}

int64_t WindowDim::getFirst() const {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (int64_t i = 0; i < getPieces(); ++i)
    if (!looked[i].isEmpty())
      first = std::min(first, looked[i].begin - i * step);
  return first;
}

int64_t WindowDim::getLength() const {
  int64_t last = std::numeric_limits<int64_t>::min();
  for (int64_t i = 0; i < getPieces(); ++i)
    if (!looked[i].isEmpty())
      last = std::max(last, looked[i].end - 1 - i * step);
  return (last - getFirst()) / stride + 1;
}

spmd::DimMove WindowDim::getMove() const {
  int64_t first = getFirst(), length = getLength(), begin = -1, end = 0;
  for (int64_t i = 0; i < getPieces(); ++i) {
    if (looked[i].isEmpty())
      continue;
    if (begin < 0)
      begin = i * length + (looked[i].begin - i * step - first) / stride;
    end = i * length + (looked[i].end - 1 - i * step - first) / stride + 1;
  }
  if (getPieces() == 1 || step == length * stride) // One behind the other in the array, too.
    return {first, stride, begin, end};
  return {first, stride, begin, end, length, step};
}

void WindowDim::add(const WindowDim &other) {
  stride = std::gcd(std::gcd(stride, other.stride), getAnyElement(*this) - getAnyElement(other));
  for (size_t i = 0; i < looked.size(); ++i)
    looked[i] = unite(looked[i], other.looked[i]);
}

} // namespace spmdc
