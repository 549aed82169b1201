//===- ProcessStatistics.h - process statistics and the status of a job ----*- C++ -*-===//
//
// Each process counts a few things and sends them with its heartbeats; the coordinator keeps the newest of each
// process. `spmdc status` and the metrics of process 0 show them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Verdict.h"

#include <cstdint>
#include <string>
#include <vector>

namespace spmd {

/// The statistics of one process. Counts never decrease; the memory may.
struct ProcessStatistics {
  uint64_t launches = 0;          ///< Runs of programs that have ended.
  uint64_t launchNanoseconds = 0; ///< The sum of their durations.
  /// Bytes that its devices have sent in collectives, for a bandwidth-optimal algorithm.
  uint64_t wireBytes = 0;
  int64_t stepsDone = -1; ///< Steps of the loop of steps; -1: there is no such loop.
  int64_t stepsWanted = 0;
  int64_t residentBytes = 0; ///< Memory of the process.

  bool operator==(const ProcessStatistics &) const = default;
};

/// One process as the coordinator sees it.
struct ProcessStatus {
  int32_t process = 0;
  std::string host;
  int64_t pid = 0;
  int32_t devices = 0;
  Position position;
  ProcessStatistics statistics;
  double rate = 0;            ///< Steps a second in the last seconds; launches a second if there is no loop of steps.
  int64_t heartbeatAgeMs = 0; ///< Milliseconds since its last message.
};

struct JobStatus {
  enum class Stage : uint8_t { RollCall, Running, Done, Over };
  Stage stage = Stage::RollCall;
  int32_t numProcesses = 0;
  int64_t uptimeMs = 0;
  std::string verdict;                  ///< The sentence of the verdict, once the job is over.
  std::vector<ProcessStatus> processes; ///< Those that have joined, by process id.
};

/// Returns the resident memory of this process in bytes; 0 if the system does not tell it.
int64_t residentBytes();

} // namespace spmd
