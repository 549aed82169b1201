//===- ElementTypes.h - element types that tests go through -----*- C++ -*-===//
#pragma once

#include "runtime/support/DType.h"

#include <vector>

namespace spmd::test {

/// All element types but random keys, which are not computed with.
inline std::vector<DType> elementTypes() {
  std::vector<DType> types;
  for (const DTypeInfo &info : kDTypes)
    if (info.dtype != DType::Key)
      types.push_back(info.dtype);
  return types;
}

} // namespace spmd::test
