//===- RunReporter.h - everything that a run tells --------------*- C++ -*-===//
#pragma once

#include "runtime/runner/PreparedRun.h"
#include "runtime/runner/ProfileWriter.h"
#include "runtime/runner/RunLog.h"
#include "runtime/runner/RunReport.h"
#include "runtime/support/ProgressLine.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace spmd {

/// Tells the user (log, progress, `--report`, `--profile`) and the launcher of this process, if there is one, how the
/// run proceeds and how it ended. The thread that ends the run calls describeEnd() and then writeReport().
class RunReporter {
public:
  explicit RunReporter(const PreparedRun &run);

  RunLog log;
  RunReport report;
  ProfileWriter profile;

  /// To be called before the job is joined.
  void setProcess(int32_t number, int32_t numProcesses);

  /// Records that the loop of steps has done so many.
  void countStep(int64_t step) { stepsDone = step; }
  /// Shows the counted step: to the launcher a few times a second, so that it knows the progress of a process that is
  /// killed, and to the user in the line of the terminal.
  void showStep();

  /// Writes a message about the whole job, which process 0 alone writes.
  void tellOnce(const Notice &notice);
  /// The same; `savedStep` is the step whose checkpoint is durable now, or -1.
  void tellOnce(const Notice &notice, int64_t savedStep);
  /// Reports that all processes have saved and end. For processes started by `run`, only process 0 reports, and the
  /// launcher reports the rest.
  void tellInterruption(const Verdict &verdict);

  /// Records the end for this process's own report and for the launcher's, and writes the profile. `topology` is empty
  /// before the job is joined. `message` is the error, if there is one.
  void describeEnd(const Topology &topology, bool failed, const std::optional<std::string> &message,
                   const Verdict *verdict);
  bool isEndDescribed() const { return hasEnded; }
  /// Writes `--report`, if the user asked for it. `status` is the exit status of the run; returns that of the process,
  /// which is 1 if the report cannot be written.
  int writeReport(int status);

private:
  const PreparedRun &run;
  int32_t process = 0;
  ProgressLine progress;
  std::atomic<int64_t> stepsDone{-1}; ///< Steps of the loop of steps; -1: it has not begun.
  int64_t lastToldNs = 0;
  std::atomic<bool> hasEnded{false};
};

} // namespace spmd
