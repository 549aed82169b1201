//===- Vitals.h - what a running job shows of itself ------------*- C++ -*-===//
//
// Each process counts a few things and tells them with its heartbeats; the coordinator keeps the newest of each. From
// there `spmdc status` and the metrics of process 0 have them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Verdict.h"

#include <cstdint>
#include <string>
#include <vector>

namespace spmd {

/// What one process counts. Nothing here ever decreases but the memory.
struct Vitals {
  uint64_t launches = 0;          ///< Runs of programs that have ended.
  uint64_t launchNanoseconds = 0; ///< What they took, together.
  uint64_t wireBytes = 0;         ///< That its devices have sent in collectives, for a bandwidth-optimal algorithm.
  int64_t stepsDone = -1;         ///< Of a loop of steps; -1: there is none.
  int64_t stepsWanted = 0;
  int64_t residentBytes = 0; ///< Memory of the process.

  bool operator==(const Vitals &) const = default;
};

/// One process as the coordinator sees it.
struct ProcessStatus {
  int32_t process = 0;
  std::string host;
  int64_t pid = 0;
  int32_t devices = 0;
  Position position;
  Vitals vitals;
  double rate = 0;            ///< Steps a second lately, or launches where there is no loop of steps.
  int64_t heartbeatAgeMs = 0; ///< Since it was last heard.
};

struct JobStatus {
  enum class Stage : uint8_t { RollCall, Running, Done, Over };
  Stage stage = Stage::RollCall;
  int32_t numProcesses = 0;
  int64_t uptimeMs = 0;
  std::string verdict;                  ///< The sentence, once the job is over.
  std::vector<ProcessStatus> processes; ///< Those that have come, by number.
};

/// The memory of this process that is in use; 0 where the system does not tell.
int64_t residentBytes();

} // namespace spmd
