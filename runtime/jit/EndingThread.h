//===- EndingThread.h - compilation at the end of a thread ------*- C++ -*-===//
#pragma once

#include <source_location>

namespace spmd {

/// To be called before each use of MLIR. MLIR keeps caches for each thread, which are destroyed with the thread's other
/// thread-local objects: for the main thread before the handlers of std::atexit and the destructors of static objects.
/// MLIR would search them without end after that, so this function throws an error instead.
void checkMayCompile(const std::source_location &where);

} // namespace spmd
