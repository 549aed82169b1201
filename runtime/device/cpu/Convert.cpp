//===- Convert.cpp - half-width floats and f32 ----------------------------===//

#include "runtime/device/cpu/Convert.h"
#include "runtime/device/cpu/CpuIsa.h"

namespace spmd {
namespace {

namespace baseline {
#include "runtime/device/cpu/ConvertLoops.inc"
} // namespace baseline

#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
namespace avx2 {
#include "runtime/device/cpu/ConvertLoops.inc"
} // namespace avx2
#pragma clang attribute pop

#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"))),              \
                             apply_to = function)
namespace avx512 {
#include "runtime/device/cpu/ConvertLoops.inc"
} // namespace avx512
#pragma clang attribute pop

} // namespace

void widenToF32(DType dtype, const void *source, float *target, int64_t count) {
  bool isBf16 = dtype == DType::BF16;
  auto *bf16 = static_cast<const uint16_t *>(source);
  auto *f16 = static_cast<const _Float16 *>(source);
  switch (detectIsa()) {
  case CpuIsa::Avx512:
    return isBf16 ? avx512::widenBf16(bf16, target, count) : avx512::widenF16(f16, target, count);
  case CpuIsa::Avx2:
    return isBf16 ? avx2::widenBf16(bf16, target, count) : avx2::widenF16(f16, target, count);
  case CpuIsa::Baseline:
    return isBf16 ? baseline::widenBf16(bf16, target, count) : baseline::widenF16(f16, target, count);
  }
}

void narrowFromF32(DType dtype, const float *source, void *target, int64_t count) {
  bool isBf16 = dtype == DType::BF16;
  auto *bf16 = static_cast<uint16_t *>(target);
  auto *f16 = static_cast<_Float16 *>(target);
  switch (detectIsa()) {
  case CpuIsa::Avx512:
    return isBf16 ? avx512::narrowBf16(source, bf16, count) : avx512::narrowF16(source, f16, count);
  case CpuIsa::Avx2:
    return isBf16 ? avx2::narrowBf16(source, bf16, count) : avx2::narrowF16(source, f16, count);
  case CpuIsa::Baseline:
    return isBf16 ? baseline::narrowBf16(source, bf16, count) : baseline::narrowF16(source, f16, count);
  }
}

} // namespace spmd
