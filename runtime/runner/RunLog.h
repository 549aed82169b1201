//===- RunLog.h - what a run says on stderr ---------------------*- C++ -*-===//
//
// Lines for people (`spmdc: process 2: warning: ...`), or one JSON object a line for programs (`--log-format json`):
//     {"time": "2026-01-31T12:00:00.123456Z", "level": "error", "process": 2, "message": "...", "verdict": {...}}
// `process` is absent where there is one process only, and in what the launcher of several says.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/coordinator/Client.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <sys/types.h>

namespace spmd {

enum class LogFormat : uint8_t { Text, Json };

class RunLog {
public:
  enum class Level : uint8_t { Info, Warning, Error };

  /// Writing to `stream` no longer waits for the stream that it is tied to, as stderr is to stdout: a reader of results
  /// who pauses must not keep back what is to be said about that.
  RunLog(std::ostream &stream, std::string command, LogFormat format)
      : stream(stream), command(std::move(command)), format(format) {
    stream.tie(nullptr);
  }

  /// From now on lines bear this process's number.
  void setProcess(int32_t number) { process = number; }

  /// One line. Thread-safe. `verdict`: what the text is about; its fields stand in the JSON.
  void write(Level level, const std::string &text, const Verdict *verdict = nullptr);
  void write(const Notice &notice) {
    write(notice.level == Notice::Level::Warning ? Level::Warning : Level::Info, notice.text);
  }
  /// The processes of a job that was started here.
  void writeStarted(const std::vector<pid_t> &pids, const std::string &address);
  /// What is ready for people already: as it is, or as the text of one line of JSON.
  void writeRaw(Level level, std::string text);

private:
  void writeJson(Level level, const std::string &text, const Verdict *verdict);

  std::ostream &stream;
  std::string command;
  LogFormat format;
  std::optional<int32_t> process;
  std::mutex mutex;
};

/// `2026-01-31T12:00:00.123456Z`
std::string timeText(std::chrono::system_clock::time_point time);

} // namespace spmd
