//===- CustomCalls.h - calls of code outside of the export ------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/Translation.h"

namespace spmdc::stablehlo {

/// The results of a call of LAPACK or cuSOLVER (`lapack_spotrf_ffi`, `cusolver_potrf_ffi`); nullopt if the call is
/// another one, or has no translation.
std::optional<Results> translateLapack(Translation &t, CustomCallOp op);

/// The results of `ApproxTopK`, XLA's `approx_max_k` and `approx_min_k`: of an array, other arrays that move with it,
/// and an initial value of each, the first elements of `reduction_dim` in the comparator's order. They are exact: a
/// recall of 1 is at least the one that the call asks for.
Results translateApproxTopK(Translation &t, CustomCallOp op);

} // namespace spmdc::stablehlo
