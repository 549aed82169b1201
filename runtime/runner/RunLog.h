//===- RunLog.h - messages of a run on stderr -------------------*- C++ -*-===//
//
// Lines for users (`spmdc: process 2: warning: ...`), or one JSON object a line for programs (`--log-format json`):
//     {"time": "2026-01-31T12:00:00.123456Z", "level": "error", "process": 2, "message": "...", "verdict": {...}}
// `process` is absent if there is only one process, and in messages of the launcher of several.
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

  /// Unties `stream` from the stream that it flushes first, as stderr flushes stdout: a reader of results that pauses
  /// must not delay messages about that.
  RunLog(std::ostream &stream, std::string command, LogFormat format)
      : stream(stream), command(std::move(command)), format(format) {
    stream.tie(nullptr);
  }

  /// From now on lines have this process's number.
  void setProcess(int32_t number) { process = number; }

  /// Writes one line. Thread-safe. `verdict` is the verdict that the text reports; the JSON has its fields.
  void write(Level level, const std::string &text, const Verdict *verdict = nullptr);
  void write(const Notice &notice) {
    write(notice.level == Notice::Level::Warning ? Level::Warning : Level::Info, notice.text);
  }
  /// Writes the address and the pids of a job that was started on this machine.
  void writeStarted(const std::vector<pid_t> &pids, const std::string &address);
  /// Writes a text that is ready for users: unchanged, or as the message of one line of JSON.
  void writeRaw(Level level, std::string text);

private:
  void writeJson(Level level, const std::string &text, const Verdict *verdict);

  std::ostream &stream;
  std::string command;
  LogFormat format;
  std::optional<int32_t> process;
  std::mutex mutex;
};

/// Returns `2026-01-31T12:00:00.123456Z`.
std::string timeText(std::chrono::system_clock::time_point time);

} // namespace spmd
