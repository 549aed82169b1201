//===- StartFailure.cpp - a process that cannot begin ---------------------===//

#include "runtime/api/StartFailure.h"

#include "runtime/api/Job.h"
#include "runtime/support/Error.h"

#include <sstream>
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
  } catch (const Error &) { // What is missing or wrong there, the process's own error says or would have said.
  }
}

} // namespace spmd
