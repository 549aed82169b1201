//===- AllEntries.cpp - libcuda without GPUs: functions that do nothing ---===//
//
// A libcuda.so.1 for tests of commands, with every function of DriverEntries.def. Those of Answers.cpp replace these.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/DriverTypes.h"

using namespace spmd::cuda;

namespace {
constexpr int kNotSupported = 801; // CUDA_ERROR_NOT_SUPPORTED
} // namespace

#define SPMD_CUDA_ENTRY(name, symbol, ...)                                                                             \
  extern "C" __attribute__((weak)) Result symbol(__VA_ARGS__) { return kNotSupported; }
#include "runtime/device/cuda/DriverEntries.def"
#undef SPMD_CUDA_ENTRY
