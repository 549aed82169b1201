//===- RunChecks.h - what is wrong with a run's options ---------*- C++ -*-===//
//
// Said before anything is started, by one process.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/RunCarry.h"
#include "runtime/api/RunProgram.h"
#include "runtime/support/Env.h"

namespace spmd {

/// What names in the options stand for.
struct CheckedRun {
  std::vector<CarriedValue> carries;
  std::vector<std::pair<size_t, std::string>> batchInputs; ///< Parameters and their files.
};

/// Throws spmd::Error, mostly of the kind Usage. `isMember`: the process is one of a job that others belong to.
CheckedRun checkRunOptions(const RunOptions &options, const Plan &plan, bool isMember);

/// How many devices a process has: as told, or its share of the mesh. Throws usage errors with all the numbers.
int devicesPerProcess(const RunOptions &options, const Environment &environment, const MeshShape &mesh, int processes,
                      bool startsProcesses);

/// `mesh (a=4, b=2)`.
std::string meshText(const MeshShape &mesh);

} // namespace spmd
