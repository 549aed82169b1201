//===- Maxima.h - maxima and minima of floats on AVX-512 --------*- C++ -*-===//
//
// The larger of two floats by IEEE 754-2019 (`llvm.maximum`) is NaN if one of them is, and +0 of the two zeros. LLVM
// computes it by vmaxps, which knows neither, and five instructions around it. vrangeps orders zeros, so that NaNs
// alone are left: the comparison finds them, and a sum makes them.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace spmdc {

/// Replaces llvm.maximum and llvm.minimum of f32 and f64, and their reductions of vectors. After optimization; the
/// target has AVX512DQ and AVX512VL. If an operand is a constant, or there are neither NaNs nor signs of zero, the call
/// stays: LLVM's code is as short.
void lowerMaxima(llvm::Module &module);

} // namespace spmdc
