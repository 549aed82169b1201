//===- ChildReport.h - message from a child to its launcher -----*- C++ -*-===//
//
// The other direction of the launcher's socket (see ChildEndMessage.h): a process reports its progress, and why its job
// ended. The launcher outlives every process of the job, so it writes the report. Each record has only the fields that
// changed.
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
  std::optional<Verdict> verdict = {};   ///< The verdict of the job.
  std::optional<std::string> error = {}; ///< The error that ended the process before its job had a verdict.
  std::optional<int64_t> stepsDone = {}; ///< Steps of the loop of steps that have ended.
  std::optional<int64_t> savedStep = {}; ///< The newest checkpoint that this job has made durable.

  /// Sets the fields that `news` has.
  void update(ChildReport news);

  bool operator==(const ChildReport &) const = default;
};

namespace coordinator {

/// The largest size of a record.
constexpr size_t maxChildReportBytes = 65536;

std::string encodeChildReport(const ChildReport &report);
/// Returns nullopt if the bytes are not a record.
std::optional<ChildReport> decodeChildReport(std::string_view record);

} // namespace coordinator

/// Sends a record to the launcher. Does nothing if `launcherFd` (Environment::launcherFd) is not a socket of our
/// launcher. Never waits and ignores errors: a report that cannot be sent must not end the job.
void reportToLauncher(std::optional<int> launcherFd, const ChildReport &report);

} // namespace spmd
