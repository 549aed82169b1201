//===- CpuIsa.h - vector instructions of this machine -----------*- C++ -*-===//
//
// Our own inner loops are compiled for three levels (CpuVariants.inc), products of bytes for a fourth one (Gemm.cpp),
// and selected at run time. (The compiler's function multi-versioning resolves before the sanitizers are initialised,
// so we select the level ourselves.)
//
//===----------------------------------------------------------------------===//
#pragma once

namespace spmd {

/// Each level includes those before it.
enum class CpuIsa { Baseline, Avx2, Avx512, Avx512Vnni };

inline CpuIsa detectIsa() {
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return __builtin_cpu_supports("avx512vnni") ? CpuIsa::Avx512Vnni : CpuIsa::Avx512;
  return avx2 ? CpuIsa::Avx2 : CpuIsa::Baseline;
}

/// Whether products of bf16 by vector instructions for them are faster than in f32. Intel's are not: one vdpbf16ps is
/// two multiply-adds and takes the time of five (benchmarks/RESULTS.md).
inline bool hasFastBf16Products() {
  __builtin_cpu_init();
  return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512bf16");
}

/// Returns the argument for a level.
template <typename T> T forCpu(CpuIsa isa, T baseline, T avx2, T avx512) {
  switch (isa) {
  case CpuIsa::Avx512Vnni:
  case CpuIsa::Avx512:
    return avx512;
  case CpuIsa::Avx2:
    return avx2;
  case CpuIsa::Baseline:
    return baseline;
  }
  return baseline;
}

/// Returns the argument for this machine's level.
template <typename T> T forThisCpu(T baseline, T avx2, T avx512) { return forCpu(detectIsa(), baseline, avx2, avx512); }

} // namespace spmd
