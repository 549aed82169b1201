//===- ValueBuffer.h - the buffer of a value --------------------*- C++ -*-===//
#pragma once

#include "ir/plan/PlanOps.h"

namespace spmdc {

/// The buffer of a value, from the step that defines it; null for the function's arguments.
plan::BufferAttr findBuffer(mlir::Value value);

} // namespace spmdc
