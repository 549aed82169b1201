//===- Runtime.h - the process's current job --------------------*- C++ -*-===//
//
// The only process-wide state of the runtime is the current job. initialize() sets it; otherwise the first call that
// uses devices creates a job of one process.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/Job.h"

#include <source_location>

namespace spmd {

/// Returns the current job; creates one of this process alone if initialize() was not called.
std::shared_ptr<Job> currentJob(std::source_location where);

/// Does the work of initialize() with resolved options: for commands, which add columns to compare.
void initializeRuntime(JoinOptions options, std::source_location where);

/// Throws the usage error if initialize() may not be called any more.
void checkNotInitialized(std::source_location where);

} // namespace spmd
