//===- OptionChecks.h - checks of a run's options ---------------*- C++ -*-===//
//
// One process checks before anything is started.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/runner/Carry.h"
#include "runtime/runner/RunOptions.h"
#include "runtime/support/Env.h"

namespace spmd {

/// The values that names in the options refer to.
struct CheckedRun {
  std::vector<CarriedValue> carries;
  std::vector<std::pair<size_t, std::string>> batchInputs; ///< Indices of parameters, and their files.
};

/// Throws spmd::Error, usually of the kind Usage. `isMember`: the process is one of a job with several processes.
CheckedRun checkRunOptions(const RunOptions &options, const Plan &plan, bool isMember);

/// Returns whether results are wanted that are not carried.
bool needsResults(const Plan &plan, const RunOptions &options, const std::vector<CarriedValue> &carries);

/// Returns a warning if the steps of a loop do not depend on one another; otherwise "".
std::string loopWarning(const RunOptions &options, const CheckedRun &run);

/// Returns the number of devices of a process: the given one, or its part of the mesh. Throws usage errors with all the
/// numbers.
int devicesPerProcess(const RunOptions &options, const Environment &environment, const MeshShape &mesh, int processes,
                      bool startsProcesses);

/// Throws, on all processes alike, if they do not have as many devices together as the mesh; the error names processes
/// whose number differs from the others'. Processes may have different numbers: only the sum counts.
void checkJobDevices(const Topology &topology, const MeshShape &mesh);

/// Returns a warning if processes of one host, which usually get the same options, would write the same `--report` or
/// `--profile`; all processes of a host except the first warn. Returns "" otherwise.
std::string sharedFileWarning(const RunOptions &options, const Topology &topology, int32_t process);

/// Returns `mesh (a=4, b=2)`.
std::string meshText(const MeshShape &mesh);

} // namespace spmd
