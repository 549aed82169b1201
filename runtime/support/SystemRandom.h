//===- SystemRandom.h - secrets from the operating system -------*- C++ -*-===//
#pragma once

#include <cstddef>

namespace spmd {

/// Fills the bytes with random ones that nobody can predict. Throws spmd::Error.
void fillWithSystemRandom(void *bytes, size_t count);

} // namespace spmd
