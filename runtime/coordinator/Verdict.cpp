#include "runtime/coordinator/Verdict.h"

#include "runtime/coordinator/Describe.h"
#include "runtime/support/Process.h"

namespace spmd {

std::string describeProcess(int32_t process, const std::string &host, int64_t pid) {
  std::string text = "process " + std::to_string(process);
  if (!host.empty())
    return text + " (" + host + ", pid " + std::to_string(pid) + ")";
  if (pid != 0)
    return text + " (pid " + std::to_string(pid) + ")";
  return text;
}

std::string Position::str() const {
  if (step < 0 && launch == 0)
    return location.empty() ? "before its first step" : "before its first step, " + location;
  std::string text = "launch " + std::to_string(launch) + ", step " + std::to_string(step);
  return location.empty() ? text : text + " (" + location + ")";
}

std::string Verdict::str() const {
  std::string who = describeProcess(culprit, host, pid);
  std::string place = (position.step < 0 && position.launch == 0 ? "" : "at ") + position.str();
  std::string last = "; last seen " + place;
  switch (cause) {
  case Cause::Lost:
    return who + " was lost without goodbye" + last;
  case Cause::Killed:
    return who + " was killed by signal " + std::to_string(detail) + " (" + signalName(static_cast<int>(detail)) + ")" +
           last;
  case Cause::Exited:
    return who + " exited with status " + std::to_string(detail) + " without goodbye" + last;
  case Cause::Hung:
    return who + " hangs: no heartbeat for " + coordinator::formatSeconds(detail) + last;
  case Cause::Stuck:
    if (detail == 0)
      return who + " is stuck: " + text + last;
    return who + " is stuck: for " + coordinator::formatSeconds(detail) + " it has been " + place + text;
  case Cause::Failed:
    return culprit < 0 ? text : who + " failed: " + text;
  case Cause::Interrupted:
    return who + " was asked to end (" + signalName(static_cast<int>(detail)) + ")" + text;
  case Cause::Mismatch:
  case Cause::Missing:
    return text;
  }
  return text;
}

} // namespace spmd
