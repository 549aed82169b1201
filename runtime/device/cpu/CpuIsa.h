//===- CpuIsa.h - vector instructions of this machine -----------*- C++ -*-===//
//
// Our own inner loops are compiled for three levels (CpuVariants.inc) and selected at run time. (The compiler's
// function multi-versioning resolves before the sanitizers are initialised, so we select the level ourselves.)
//
//===----------------------------------------------------------------------===//
#pragma once

namespace spmd {

enum class CpuIsa { Baseline, Avx2, Avx512 };

inline CpuIsa detectIsa() {
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return CpuIsa::Avx512;
  return avx2 ? CpuIsa::Avx2 : CpuIsa::Baseline;
}

/// Returns the argument for this machine's level.
template <typename T> T forThisCpu(T baseline, T avx2, T avx512) {
  switch (detectIsa()) {
  case CpuIsa::Avx512:
    return avx512;
  case CpuIsa::Avx2:
    return avx2;
  case CpuIsa::Baseline:
    return baseline;
  }
  return baseline;
}

} // namespace spmd
