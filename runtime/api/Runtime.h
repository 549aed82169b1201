//===- Runtime.h - the process's current job --------------------*- C++ -*-===//
//
// The one piece of process-wide state of the runtime: which job this process is in. initialize() sets it; the first
// call that touches devices makes a job of one process if there is none.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/Job.h"

#include <source_location>

namespace spmd {

/// The current job; makes one of this process alone where initialize() was not called.
std::shared_ptr<Job> currentJob(std::source_location where);

/// What initialize() does once its options are resolved: for commands, which add columns to compare.
void initializeRuntime(JoinOptions options, std::source_location where);

/// Throws the usage error if initialize() may not be called any more.
void checkNotInitialized(std::source_location where);

} // namespace spmd
