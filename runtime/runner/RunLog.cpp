//===- RunLog.cpp - messages of a run on stderr ---------------------------===//

#include "runtime/runner/RunLog.h"

#include "runtime/runner/VerdictJson.h"
#include "runtime/support/TerminalText.h"

#include <ctime>

namespace spmd {

std::string timeText(std::chrono::system_clock::time_point time) {
  auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  std::time_t seconds = static_cast<std::time_t>(micros / 1'000'000);
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char date[32], text[48];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text, sizeof text, "%s.%06dZ", date, static_cast<int>(micros % 1'000'000));
  return text;
}

void RunLog::write(Level level, const std::string &text, const Verdict *verdict) {
  if (format == LogFormat::Json)
    return writeJson(level, text, verdict);
  std::string line = command + ": ";
  if (process)
    line += "process " + std::to_string(*process) + ": ";
  line += level == Level::Error ? "error: " : level == Level::Warning ? "warning: " : "";
  // The text may come from other processes through the store: shapes, file names.
  line += escapeControls(text) + "\n";
  std::lock_guard lock(mutex);
  stream << line << std::flush;
}

void RunLog::writeStarted(const std::vector<pid_t> &pids, const std::string &address) {
  write(Level::Info, "the coordinator is at " + address);
  for (size_t i = 0; i < pids.size(); ++i)
    write(Level::Info, "process " + std::to_string(i) + " has pid " + std::to_string(pids[i]));
}

void RunLog::writeRaw(Level level, std::string text) {
  if (text.empty())
    return;
  if (format == LogFormat::Json) {
    text.erase(text.find_last_not_of('\n') + 1);
    if (std::string prefix = command + ": error: "; text.starts_with(prefix)) // A field of the line has this.
      text.erase(0, prefix.size());
    return writeJson(level, text, nullptr);
  }
  std::lock_guard lock(mutex);
  stream << text << std::flush;
}

void RunLog::writeJson(Level level, const std::string &text, const Verdict *verdict) {
  constexpr const char *names[] = {"info", "warning", "error"};
  nlohmann::ordered_json line;
  line["time"] = timeText(std::chrono::system_clock::now());
  line["level"] = names[static_cast<int>(level)];
  line["command"] = command;
  if (process)
    line["process"] = *process;
  line["message"] = text;
  if (verdict)
    line["verdict"] = verdictJson(*verdict);
  std::string bytes = jsonText(line) + "\n";
  std::lock_guard lock(mutex);
  stream << bytes << std::flush;
}

} // namespace spmd
