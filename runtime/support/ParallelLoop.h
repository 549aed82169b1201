//===- ParallelLoop.h - a loop on all cores ---------------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <functional>

namespace spmd {

/// Calls `work` with 0 to count - 1, each once, in any order, on the calling thread and on further ones: one for each
/// core, or fewer if the system refuses more. Returns when all calls have returned. After a call has thrown, no other
/// begins, and the exception of the smallest index is thrown to the caller. `work` must be thread-safe.
void forEachInParallel(size_t count, const std::function<void(size_t)> &work);

} // namespace spmd
