//===- RunChecks.h - what is wrong with a run's options ---------*- C++ -*-===//
//
// Said before anything is started, by one process.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/runner/RunCarry.h"
#include "runtime/runner/RunProgram.h"
#include "runtime/support/Env.h"

namespace spmd {

/// What names in the options stand for.
struct CheckedRun {
  std::vector<CarriedValue> carries;
  std::vector<std::pair<size_t, std::string>> batchInputs; ///< Parameters and their files.
};

/// Throws spmd::Error, mostly of the kind Usage. `isMember`: the process is one of a job that others belong to.
CheckedRun checkRunOptions(const RunOptions &options, const Plan &plan, bool isMember);

/// Whether results are wanted that are not among what is carried.
bool needsResults(const Plan &plan, const RunOptions &options, const std::vector<CarriedValue> &carries);

/// A warning about a loop whose steps do not go on from one another, or nothing.
std::string loopWarning(const RunOptions &options, const CheckedRun &run);

/// How many devices a process has: as told, or its share of the mesh. Throws usage errors with all the numbers.
int devicesPerProcess(const RunOptions &options, const Environment &environment, const MeshShape &mesh, int processes,
                      bool startsProcesses);

/// Throws, on all processes alike, where they have not as many devices together as the mesh; processes that have
/// another number than the others are named. Processes may differ in that: only the sum counts.
void checkJobDevices(const Topology &topology, const MeshShape &mesh);

/// A warning where processes of one host, which are usually given the same options, would write the same `--report` or
/// `--profile`; said by all of a host but the first. Empty: they would not.
std::string sharedFileWarning(const RunOptions &options, const Topology &topology, int32_t process);

/// `mesh (a=4, b=2)`.
std::string meshText(const MeshShape &mesh);

} // namespace spmd
