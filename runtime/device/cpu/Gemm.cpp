//===- Gemm.cpp - our own blocked matrix product --------------------------===//

#include "runtime/device/cpu/Gemm.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <type_traits>

namespace spmd {
namespace {

#define SPMD_LOOPS "runtime/device/cpu/GemmTable.inc"
#include "runtime/device/cpu/CpuVariants.inc"

#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))),   \
                             apply_to = function)
namespace avx512vnni {
constexpr int64_t vectorBytes = 64;
#include "runtime/device/cpu/GemmVnni.inc"
} // namespace avx512vnni
#pragma clang attribute pop

} // namespace

GemmKernel findGemmKernel(DType operand, DType result, CpuIsa isa) {
  if (isa == CpuIsa::Avx512Vnni)
    if (GemmKernel kernel = avx512vnni::findVnniKernel(operand, result); kernel.multiplyTile)
      return kernel;
  return forCpu(isa, baseline::findKernel, avx2::findKernel, avx512::findKernel)(operand, result);
}

} // namespace spmd
