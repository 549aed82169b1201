//===- CpuIsa.h - which vector instructions this machine has ----*- C++ -*-===//
//
// Our own inner loops are compiled for three levels (CpuVariants.inc) and chosen at run time. (Function
// multi-versioning of the compiler resolves before the sanitizers are up, so we choose ourselves.)
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

/// Of three things that were made for the three levels, the one for this machine.
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
