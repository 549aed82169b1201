//===- LocalGpu.h - the architecture of this machine's GPU ------*- C++ -*-===//
#pragma once

#include <string>

namespace spmdc {

/// Converts `cuda` to `cuda:sm_90`, with the architecture of the first GPU that this process may use, and returns any
/// other text unchanged. Throws spmd::Error if there is no GPU.
std::string nameLocalGpu(const std::string &target);

} // namespace spmdc
