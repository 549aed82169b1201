//===- Amx.cpp - tiles of products on a CPU's matrix unit -----------------===//

#include "runtime/device/cpu/Amx.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <sys/syscall.h>
#include <tuple>
#include <type_traits>
#include <unistd.h>

namespace spmd {
namespace {

bool askForAmx() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("amx-tile") || !__builtin_cpu_supports("amx-bf16") ||
      !__builtin_cpu_supports("amx-int8") || !__builtin_cpu_supports("avx512bf16") || detectIsa() < CpuIsa::Avx512)
    return false;
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

#pragma clang attribute push(                                                                                          \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16,amx-int8"))), \
    apply_to = function)
namespace amx {
constexpr int64_t vectorBytes = 64;
#include "runtime/device/cpu/AmxTile.inc"
#include "runtime/device/cpu/GemmKinds.inc"
#include "runtime/device/cpu/GemmPack.inc"
} // namespace amx
#pragma clang attribute pop

} // namespace

bool canUseAmx() {
  static const bool isUsable = askForAmx();
  return isUsable;
}

AmxKernel findAmxKernel(DType operand, DType result) { return amx::findKernel(operand, result); }

} // namespace spmd
