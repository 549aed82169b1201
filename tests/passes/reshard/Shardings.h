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

} // namespace spmdc
