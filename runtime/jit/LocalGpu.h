//===- LocalGpu.h - the architecture of this machine's GPU ------*- C++ -*-===//
#pragma once

#include <string>

namespace spmdc {

/// `cuda` becomes `cuda:sm_90`, the architecture of the first GPU that this process may use; any other text stays as it
/// is. Throws spmd::Error where there is no GPU.
std::string nameLocalGpu(const std::string &target);

} // namespace spmdc
