//===- StartFailure.cpp - a process that fails before it joins ------------===//

#include "runtime/runner/StartFailure.h"

#include "runtime/api/Job.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"

#include <chrono>
#include <future>
#include <sstream>
#include <thread>
#include <utility>

namespace spmd {

std::string findError(const std::string &messages, const std::string &command) {
  std::istringstream lines(messages);
  std::string first, frame = command + ": error: ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(frame))
      return line.substr(frame.size());
    if (line.find(": error: ") != std::string::npos)
      return line;
    if (first.empty())
      first = line;
  }
  return first;
}

void tellStartFailure(const InitializeOptions &options, const Environment &environment, const std::string &why,
                      std::function<void(const Notice &)> notice) {
  try {
    JoinOptions join = resolveJoinOptions(options, environment, /*defaultDevices=*/1);
    join.notice = std::move(notice);
    Client::tellFailure(std::move(join), why);
  } catch (const Error &) { // The process itself reports missing or wrong options.
  }
}

void tellInterruption(const InitializeOptions &options, const Environment &environment, int signal) {
  std::string why = "was asked to end (" + signalName(signal) + ") before it joined";
  std::packaged_task<void()> tell(
      [options, environment, why] { tellStartFailure(options, environment, why, [](const Notice &) {}); });
  std::future<void> told = tell.get_future();
  std::thread(std::move(tell)).detach();
  told.wait_for(std::chrono::seconds(1));
}

} // namespace spmd
