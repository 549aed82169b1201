//===- BytesAlone.h - a cost model for tiny arrays --------------*- C++ -*-===//
#pragma once

#include "passes/cost/CostModel.h"

namespace spmdc {

/// The bytes on the wire alone decide, as they do where arrays are large.
inline CostModel bytesAlone() {
  CostModel model;
  model.goal = Goal::Bytes;
  return model;
}

} // namespace spmdc
