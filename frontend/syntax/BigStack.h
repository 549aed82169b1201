//===- BigStack.h - deep recursion without fear -----------------*- C++ -*-===//
#pragma once

#include <functional>

namespace spmdc {

/// Runs `body` to its end on a thread with a stack of 512 MiB (address space; memory only as far as it is used), so
/// that walks over programs nested as deep as the language allows are safe in every build, the sanitizers' included.
/// Exceptions reach the caller.
void runOnBigStack(const std::function<void()> &body);

} // namespace spmdc
