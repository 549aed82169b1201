//===- ExplainGpus.h - GPU support of this machine --------------*- C++ -*-===//
#pragma once

#include <string>

namespace spmd::cuda {

/// Returns a readable list: the driver, each GPU with its memory, and cuBLASLt, or what is missing and where it was
/// searched. `toolkit` is the folder of a CUDA toolkit, may be empty. Never throws.
std::string explainGpus(const std::string &toolkit);

} // namespace spmd::cuda
