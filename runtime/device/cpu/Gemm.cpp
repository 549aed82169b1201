//===- Gemm.cpp - our own blocked matrix product --------------------------===//

#include "runtime/device/cpu/Gemm.h"
#include "runtime/device/cpu/CpuIsa.h"

#include <algorithm>
#include <type_traits>

namespace spmd {
namespace {

namespace baseline {
constexpr int64_t vectorBytes = 16;
constexpr int tileRows = 6;
#include "runtime/device/cpu/GemmLoops.inc"
} // namespace baseline

#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
namespace avx2 {
constexpr int64_t vectorBytes = 32;
constexpr int tileRows = 6;
#include "runtime/device/cpu/GemmLoops.inc"
} // namespace avx2
#pragma clang attribute pop

#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"))),              \
                             apply_to = function)
namespace avx512 {
constexpr int64_t vectorBytes = 64;
constexpr int tileRows = 12;
#include "runtime/device/cpu/GemmLoops.inc"
} // namespace avx512
#pragma clang attribute pop

} // namespace

GemmKernel findGemmKernel(DType operand, DType result) {
  switch (detectIsa()) {
  case CpuIsa::Avx512:
    return avx512::findKernel(operand, result);
  case CpuIsa::Avx2:
    return avx2::findKernel(operand, result);
  case CpuIsa::Baseline:
    return baseline::findKernel(operand, result);
  }
  return {};
}

} // namespace spmd
