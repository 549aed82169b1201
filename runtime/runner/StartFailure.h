//===- StartFailure.h - a process that cannot begin -------------*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Client.h"
#include "runtime/runner/RunProgram.h"
#include "runtime/support/Env.h"

#include <functional>
#include <string>

namespace spmd {

/// Of what a command has said, the one line that others are to know: `FILE:LINE:COLUMN: error: TEXT`, or the text
/// without the command's own `spmdc: error: ` in front.
std::string findError(const std::string &messages, const std::string &command);

/// Tells the other processes of a cluster, which wait for this one, why it does not come (Client::tellFailure); nothing
/// where it is not known where they are. `notice`: as in JoinOptions, of what this waits for.
void tellStartFailure(const InitializeOptions &options, const Environment &environment, const std::string &why,
                      std::function<void(const Notice &)> notice);

/// The same of a process that a signal ends before it has joined. For a second at most, since who has sent it waits,
/// and perhaps for all processes; the process is to end then, whatever has come of it.
void tellInterruption(const InitializeOptions &options, const Environment &environment, int signal);

} // namespace spmd
