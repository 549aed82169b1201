//===- ChildReport.h - what a child tells its launcher ----------*- C++ -*-===//
//
// The other direction of the launcher's socket (see ChildEndMessage.h): how far a process has come, and why its job
// ended. The launcher is the one process that is there after any end, so it is the one that writes the report. Each
// record says what is new; what it does not mention stays as it was.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Verdict.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spmd {

struct ChildReport {
  std::optional<Verdict> verdict = {};   ///< The job's.
  std::optional<std::string> error = {}; ///< What went wrong before there was a job to have a verdict.
  std::optional<int64_t> stepsDone = {}; ///< Of a loop of steps.
  std::optional<int64_t> savedStep = {}; ///< The newest checkpoint that this job has made durable.

  /// Takes over what `news` mentions.
  void update(ChildReport news);

  bool operator==(const ChildReport &) const = default;
};

namespace coordinator {

/// A record is never longer than this.
constexpr size_t maxChildReportBytes = 65536;

std::string encodeChildReport(const ChildReport &report);
/// Nothing where the bytes are no record.
std::optional<ChildReport> decodeChildReport(std::string_view record);

} // namespace coordinator

/// Sends a record; does nothing where `launcherFd` (Environment::launcherFd) is not what our launcher makes. Never
/// waits and never fails: the report of a job is not worth its end.
void tellLauncher(std::optional<int> launcherFd, const ChildReport &report);

} // namespace spmd
