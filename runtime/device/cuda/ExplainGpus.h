//===- ExplainGpus.h - what this machine has for GPU programs ---*- C++ -*-===//
#pragma once

#include <string>

namespace spmd::cuda {

/// Lines for people: the driver, each GPU with its memory, and cuBLASLt, or what is missing and where it was looked
/// for. `toolkit`: the folder of a CUDA toolkit, may be empty. Never throws.
std::string explainGpus(const std::string &toolkit);

} // namespace spmd::cuda
