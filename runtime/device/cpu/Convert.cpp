//===- Convert.cpp - half-width floats and f32 ----------------------------===//

#include "runtime/device/cpu/Convert.h"
#include "runtime/device/cpu/CpuIsa.h"

namespace spmd {
namespace {

#define SPMD_LOOPS "runtime/device/cpu/ConvertLoops.inc"
#include "runtime/device/cpu/CpuVariants.inc"

} // namespace

void widenToF32(DType dtype, const void *source, float *target, int64_t count) {
  if (dtype == DType::BF16)
    return SPMD_VARIANT(widenBf16)(static_cast<const uint16_t *>(source), target, count);
  SPMD_VARIANT(widenF16)(static_cast<const _Float16 *>(source), target, count);
}

void narrowFromF32(DType dtype, const float *source, void *target, int64_t count) {
  if (dtype == DType::BF16)
    return SPMD_VARIANT(narrowBf16)(source, static_cast<uint16_t *>(target), count);
  SPMD_VARIANT(narrowF16)(source, static_cast<_Float16 *>(target), count);
}

} // namespace spmd
