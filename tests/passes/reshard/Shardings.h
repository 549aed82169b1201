//===- Shardings.h - every sharding of an array ----------------*- C++ -*-===//
#pragma once

#include "runtime/sharding/Sharding.h"

#include <vector>

namespace spmdc {

/// Every assignment of the axes, each at most once and in any order, to the dimensions of an array.
inline std::vector<spmd::Sharding> listShardings(size_t rank, const std::vector<spmd::AxisRef> &axes) {
  spmd::Sharding none;
  none.dims.resize(rank);
  std::vector<spmd::Sharding> all = {none};
  for (const spmd::AxisRef &axis : axes)
    for (size_t i = 0, end = all.size(); i < end; ++i)
      for (size_t d = 0; d < rank; ++d)
        for (size_t position = 0; position <= all[i].dims[d].size(); ++position) {
          spmd::Sharding with = all[i];
          with.dims[d].insert(with.dims[d].begin() + static_cast<long>(position), axis);
          all.push_back(with);
        }
  return all;
}

/// The elements that a device owns of an array, as row-major numbers in ascending order.
inline std::vector<int64_t> listOwned(const spmd::MeshShape &mesh, const std::vector<int64_t> &shape,
                                      const spmd::Sharding &sharding, int64_t device) {
  std::vector<int64_t> owned = {0};
  std::vector<spmd::ShardRange> ranges = spmd::ownedRanges(mesh, shape, sharding, device);
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<int64_t> next;
    for (int64_t before : owned)
      for (int64_t i = ranges[d].start; i < ranges[d].start + ranges[d].size; ++i)
        next.push_back(before * shape[d] + i);
    owned = std::move(next);
  }
  return owned;
}

} // namespace spmdc
