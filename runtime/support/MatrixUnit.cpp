//===- MatrixUnit.cpp - permission to use the CPU's matrix unit -----------===//

#include "runtime/support/MatrixUnit.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace spmd {
namespace {

bool askForMatrixUnit() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("amx-tile") || !__builtin_cpu_supports("amx-bf16") || !__builtin_cpu_supports("amx-int8"))
    return false;
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

} // namespace

bool canUseMatrixUnit() {
  static const bool isUsable = askForMatrixUnit();
  return isUsable;
}

} // namespace spmd
