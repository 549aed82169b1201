//===- GuardedCopy.h - reads of memory that may be missing ------*- C++ -*-===//
#pragma once

#include <cstddef>

namespace spmd {

/// Copies from a mapped file. Returns false if a page cannot be read: the file has shrunk since it was mapped, or its
/// disk or server failed. The SIGBUS is caught for this copy only; elsewhere it acts as before. Thread-safe. `target`
/// must not overlap; its content is undefined after a failure.
[[nodiscard]] bool copyGuarded(void *target, const void *source, size_t size);

} // namespace spmd
