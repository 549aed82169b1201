//===- BigStack.h - a large stack for deep recursion ------------*- C++ -*-===//
#pragma once

#include <functional>

namespace spmdc {

/// Runs `body` to its end on a thread with a stack of 512 MiB (address space; memory is only used on demand), so that
/// recursion over programs nested as deep as the language allows is safe in every build, including those with
/// sanitizers. Exceptions reach the caller.
void runOnBigStack(const std::function<void()> &body);

} // namespace spmdc
