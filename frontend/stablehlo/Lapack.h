//===- Lapack.h - calls of LAPACK -------------------------------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/Translation.h"

namespace spmdc::stablehlo {

/// The results of a call of LAPACK (`lapack_spotrf_ffi`); nullopt if the call is another one, or has no translation.
std::optional<Results> translateLapack(Translation &t, CustomCallOp op);

} // namespace spmdc::stablehlo
