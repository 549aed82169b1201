//===- RunReport.cpp - how a run ended, as JSON (--report) ----------------===//

#include "runtime/runner/RunReport.h"

#include "runtime/runner/RunLog.h"
#include "runtime/runner/VerdictJson.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "runtime/support/Process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include <unistd.h>

namespace spmd {
namespace {

template <typename T> nlohmann::ordered_json orNull(const std::optional<T> &value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

/// Returns a verdict for a child's end if the children reported none: they ended before they joined, or there is only
/// one.
Verdict verdictOf(const ChildEnd &end, const std::optional<std::string> &error) {
  Verdict verdict;
  verdict.culprit = end.process;
  verdict.host = hostName();
  verdict.pid = end.pid;
  verdict.cause = end.signal != 0 ? Verdict::Cause::Killed : error ? Verdict::Cause::Failed : Verdict::Cause::Exited;
  verdict.detail = end.signal != 0 ? end.signal : end.status;
  verdict.text = error.value_or("");
  return verdict;
}

} // namespace

std::string interruptionText(int signal) {
  return "the run was ended by signal " + std::to_string(signal) + " (" + signalName(signal) + ")";
}

void RunReport::describe(const LaunchResult &result) {
  interruptedBy = result.hasFailedAtTheEnd() ? 0 : result.interruptedBy;
  // A process was asked to end by itself, and saved the job's state.
  if (interruptedBy == 0 && result.culprit && result.culprit->signal == 0 && !result.verdict() &&
      result.culprit->status == 128 + SIGTERM)
    interruptedBy = SIGTERM;
  verdict.reset();
  error.reset();
  processes.clear();
  if (const Verdict *told = result.verdict())
    verdict = *told;
  else if (result.culprit && interruptedBy == 0)
    verdict = verdictOf(*result.culprit, result.reports[static_cast<size_t>(result.culprit->process)].error);
  if (interruptedBy != 0)
    verdict.reset(); // The verdicts of other processes follow from the interruption.
  // A process sends its progress from time to time, so that of a killed one may be older than a checkpoint, which all
  // processes have reached.
  std::optional<int64_t> saved;
  for (const ChildReport &told : result.reports)
    saved = std::max(saved, told.savedStep);
  for (const ChildEnd &end : result.children) {
    ProcessReport report;
    report.process = end.process;
    report.host = hostName();
    report.pid = end.pid;
    (end.signal != 0 ? report.signal : report.exitCode) = end.signal != 0 ? end.signal : end.status;
    report.stepsDone = std::max(result.reports[static_cast<size_t>(end.process)].stepsDone, saved);
    bool isCulprit = verdict && verdict->culprit == end.process;
    report.state = isCulprit ? causeName(verdict->cause) : end.succeeded() ? "succeeded" : "stopped";
    if (!isCulprit && end.signal != 0 && !end.takenDown && interruptedBy == 0)
      report.state = "killed"; // Another process, killed at the same time.
    processes.push_back(std::move(report));
  }
}

void RunReport::describe(const Topology &topology, int32_t self, const Verdict *told, bool failed,
                         std::optional<int64_t> stepsDone) {
  if (told)
    verdict = *told;
  processes.clear();
  std::vector<ProcessInfo> known = topology.processes;
  if (known.empty()) { // The job was not joined: only this process is known.
    known.emplace_back();
    known.back().index = self;
    known.back().host = hostName();
    known.back().pid = ::getpid();
  }
  for (const ProcessInfo &info : known) {
    ProcessReport report;
    report.process = info.index;
    report.host = info.host;
    report.pid = info.pid;
    report.state = failed || told ? "stopped" : "succeeded";
    if (told && told->culprit == info.index)
      report.state = causeName(told->cause);
    if (info.index == self)
      report.stepsDone = stepsDone;
    processes.push_back(std::move(report));
  }
}

void RunReport::setError(const std::string &message) { error = message; }

void RunReport::addRestart(const std::string &message, std::optional<int64_t> resumedFrom, int32_t numProcesses) {
  restarts.push_back({timeText(std::chrono::system_clock::now()), message, resumedFrom, numProcesses});
}

std::string RunReport::json(int exitStatus) const {
  using Json = nlohmann::ordered_json;
  auto ended = std::chrono::system_clock::now();
  Json report;
  report["status"] = interruptedBy != 0 || exitStatus > 128 ? "interrupted" : exitStatus == 0 ? "succeeded" : "failed";
  report["exit_code"] = exitStatus;
  report["command"] = command;
  report["began"] = timeText(began);
  report["ended"] = timeText(ended);
  report["seconds"] = std::chrono::duration<double>(ended - began).count();
  report["steps"] = steps > 0 ? Json(steps) : Json(nullptr);
  std::optional<int64_t> done;
  for (const ProcessReport &process : processes)
    if (process.stepsDone && (!done || *process.stepsDone < *done))
      done = process.stepsDone;
  report["steps_done"] = orNull(done);
  Json cause = nullptr;
  if (interruptedBy != 0) {
    cause = verdictJson(Verdict());
    cause["cause"] = "interrupted";
    cause["signal"] = interruptedBy;
    cause["signal_name"] = signalName(interruptedBy);
    cause["message"] = interruptionText(interruptedBy);
  } else if (verdict) {
    cause = verdictJson(*verdict);
  } else if (exitStatus != 0) {
    cause = verdictJson(Verdict());
    cause["cause"] = exitStatus == 2 ? "usage" : "failed";
    cause["message"] = error.value_or("");
  }
  report["root_cause"] = cause;
  report["restarts"] = Json::array();
  for (const Restart &restart : restarts)
    report["restarts"].push_back({{"time", restart.time},
                                  {"message", restart.message},
                                  {"resumed_from", orNull(restart.resumedFrom)},
                                  {"num_processes", restart.numProcesses}});
  report["processes"] = Json::array();
  for (const ProcessReport &process : processes)
    report["processes"].push_back({{"process", process.process},
                                   {"host", process.host},
                                   {"pid", process.pid},
                                   {"state", process.state},
                                   {"exit_code", orNull(process.exitCode)},
                                   {"signal", orNull(process.signal)},
                                   {"steps_done", orNull(process.stepsDone)}});
  return jsonText(report, 2) + "\n";
}

std::string pathOfProcess(std::string path, int process) {
  constexpr std::string_view placeholder = "{process}";
  for (size_t at; (at = path.find(placeholder)) != std::string::npos;)
    path.replace(at, placeholder.size(), std::to_string(process));
  return path;
}

void checkWritable(const std::string &option, const std::string &path) {
  if (std::string obstacle = path.empty() ? "" : writeObstacle(path); !obstacle.empty())
    throw Error(option + " " + path + " cannot be written: " + obstacle, Error::Kind::Usage);
}

} // namespace spmd
