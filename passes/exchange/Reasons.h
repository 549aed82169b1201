//===- Reasons.h - values that decide control flow -----------*- C++ -*-===//
#pragma once

#include "mlir/IR/Value.h"

#include <string>

namespace spmdc {

/// For a value of one element from which the condition of a loop or branch is computed: the end of a sentence that says
/// so, for the `why` of a collective. Empty for any other value.
std::string whyForCondition(mlir::Value value);

} // namespace spmdc
