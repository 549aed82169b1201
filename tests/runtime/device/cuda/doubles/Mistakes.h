//===- Mistakes.h - uses that NVIDIA's libraries forbid ---------*- C++ -*-===//
#pragma once

#include <string>

namespace spmd::cuda {

/// A use of the doubles that NVIDIA's libraries forbid or punish later, such as memory that is freed twice. A binary
/// that links the doubles defines it: a test fails, a process ends.
void reportMistake(const std::string &text);

} // namespace spmd::cuda
