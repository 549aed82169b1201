//===- StartFailure.h - a process that fails before it joins ----*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Client.h"
#include "runtime/runner/RunOptions.h"
#include "runtime/support/Env.h"

#include <functional>
#include <string>

namespace spmd {

/// Returns the line of a command's output that other processes should get: `FILE:LINE:COLUMN: error: TEXT`, or the text
/// without the prefix `spmdc: error: `.
std::string findError(const std::string &messages, const std::string &command);

/// Tells the other processes of a cluster, which wait for this one, why it does not join (Client::tellFailure). Does
/// nothing if the address of the coordinator is not known. `notice` is as in JoinOptions.
void tellStartFailure(const InitializeOptions &options, const Environment &environment, const std::string &why,
                      std::function<void(const Notice &)> notice);

/// The same for a process that a signal ends before it has joined. Takes at most a second, because the sender of the
/// signal waits, perhaps for all processes; the process ends then even if the others were not told.
void tellInterruption(const InitializeOptions &options, const Environment &environment, int signal);

} // namespace spmd
