//===- Gemm.cpp - our own blocked matrix product --------------------------===//

#include "runtime/device/cpu/Gemm.h"
#include "runtime/device/cpu/CpuIsa.h"

#include <algorithm>
#include <type_traits>

namespace spmd {
namespace {

#define SPMD_LOOPS "runtime/device/cpu/GemmLoops.inc"
#include "runtime/device/cpu/CpuVariants.inc"

} // namespace

GemmKernel findGemmKernel(DType operand, DType result) { return SPMD_VARIANT(findKernel)(operand, result); }

} // namespace spmd
