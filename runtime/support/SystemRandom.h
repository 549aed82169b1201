//===- SystemRandom.h - random bytes of the system --------------*- C++ -*-===//
#pragma once

#include <cstddef>

namespace spmd {

/// Fills the memory with unpredictable random bytes. Throws spmd::Error.
void fillWithSystemRandom(void *bytes, size_t count);

} // namespace spmd
