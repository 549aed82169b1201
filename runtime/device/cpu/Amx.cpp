//===- Amx.cpp - tiles of products on a CPU's matrix unit -----------------===//

#include "runtime/device/cpu/Amx.h"
#include "runtime/support/MatrixUnit.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <tuple>
#include <type_traits>

namespace spmd {
namespace {

#pragma clang attribute push(                                                                                          \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16,amx-int8"))), \
    apply_to = function)
namespace amx {
constexpr int64_t vectorBytes = 64;
#include "runtime/device/cpu/AmxTile.inc"
} // namespace amx
#pragma clang attribute pop

} // namespace

bool canUseAmx() { return detectIsa() >= CpuIsa::Avx512 && __builtin_cpu_supports("avx512bf16") && canUseMatrixUnit(); }

AmxKernel findAmxKernel(DType operand, DType result) { return amx::findKernel(operand, result); }

} // namespace spmd
