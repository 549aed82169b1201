//===- Lapack.h - calls of LAPACK and cuSOLVER ------------------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/Translation.h"

namespace spmdc::stablehlo {

/// The results of a call of LAPACK or cuSOLVER (`lapack_spotrf_ffi`, `cusolver_potrf_ffi`); nullopt if the call is
/// another one, or has no translation.
std::optional<Results> translateLapack(Translation &t, CustomCallOp op);

} // namespace spmdc::stablehlo
