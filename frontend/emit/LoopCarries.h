//===- LoopCarries.h - the values that a loop carries -----------*- C++ -*-===//
#pragma once

#include "frontend/emit/Value.h"

namespace spmdc {

/// One array of a carry. An initial number is weak until the body has yielded its type.
struct CarriedLeaf {
  Value initial;
  std::string name; ///< `s`, `p.w`.
  DTypeClass type;
};

/// The carries of a loop, each flattened to its leaves; in order.
struct LoopCarries {
  std::vector<Value> initials;
  std::vector<CarriedLeaf> leaves;
};

} // namespace spmdc
