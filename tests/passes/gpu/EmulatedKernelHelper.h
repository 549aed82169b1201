//===- EmulatedKernelHelper.h - PTX written by hand for tests ---*- C++ -*-===//
#pragma once

#include <string>

namespace spmdc {

/// The line of the PTX on which the body begins.
inline constexpr int kEmulatedBodyLine = 25;

/// A kernel `f` on 32-bit numbers at %p: %t is the thread's number, %mine the address of its own number, %slot that of
/// its own number in `shared` (1024 bytes), %first whether it is thread 0. `local` are 16 bytes of the thread.
/// Registers for the body: %r, %rd, %h (16 bits), %f, %fd and %q (predicates), 0 to 9.
std::string emulatedKernel(const std::string &body, const std::string &directives = "");

} // namespace spmdc
