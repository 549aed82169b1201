//===- GuardedCopy.h - reading memory that may not be there -----*- C++ -*-===//
#pragma once

#include <cstddef>

namespace spmd {

/// Copies from a mapped file. False where a page cannot be read: the file has become shorter since it was mapped, or
/// its disk or server failed. That is a SIGBUS, which is caught for this copy alone; everywhere else it does what it
/// did before. Thread-safe. `target` must not overlap; what it holds after a failure is undefined.
[[nodiscard]] bool copyGuarded(void *target, const void *source, size_t size);

} // namespace spmd
