//===- ScatterOp.h - a scatter that is no sum -------------------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "ir/array/ScatterEnums.h.inc"

#define GET_OP_CLASSES
#include "ir/array/ScatterOp.h.inc"

namespace spmdc {

/// The reduction of the same name; nullopt for `replace`.
std::optional<ReductionKind> getReductionKind(ScatterKind kind);
/// The scatter of the same name; nullopt for sums.
std::optional<ScatterKind> getScatterKind(ReductionKind kind);

} // namespace spmdc
