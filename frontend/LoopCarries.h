//===- LoopCarries.h - the values that a loop carries -----------*- C++ -*-===//
#pragma once

#include "frontend/Value.h"

namespace spmdc {

/// One array of a carry. A number that starts one is weak until the body has yielded what it becomes.
struct CarriedLeaf {
  Value initial;
  std::string name; ///< `s`, `p.w`.
  DTypeClass type;
};

/// The carries of a loop, each taken apart into its leaves; in order.
struct LoopCarries {
  std::vector<Value> initials;
  std::vector<CarriedLeaf> leaves;
};

} // namespace spmdc
