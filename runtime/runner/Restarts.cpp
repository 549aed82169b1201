//===- Restarts.cpp - restarts of a job after a fault ---------------------===//

#include "runtime/runner/Restarts.h"

#include "runtime/support/CountText.h"
#include "runtime/support/SignalInlet.h"

#include <algorithm>

#include <poll.h>

namespace spmd {
namespace {

using Milliseconds = std::chrono::milliseconds;
constexpr Milliseconds kMaxDelay{60'000};

/// Returns `1 s`, `0.25 s`.
std::string secondsText(Milliseconds time) {
  std::string text = std::to_string(time.count() % 1000 + 1000).replace(0, 1, ".");
  text.erase(text.find_last_not_of('0') + 1);
  return std::to_string(time.count() / 1000) + (text == "." ? "" : text) + " s";
}

/// Sleeps. Returns the signal that came meanwhile, or 0.
int sleepUnlessSignalled(SignalInlet &signals, Milliseconds time) {
  auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    auto left = std::chrono::ceil<Milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd polled = {signals.get(), POLLIN, 0};
    ::poll(&polled, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (int number = signals.take())
      return number;
    if (left <= 0)
      return 0;
  }
}

int32_t countDead(const LaunchResult &result) {
  int32_t count = 0;
  for (const ChildEnd &end : result.children)
    count += (end.signal != 0 && !end.takenDown) || (result.culprit && result.culprit->process == end.process);
  return count;
}

} // namespace

bool isFault(const LaunchResult &result) {
  if (result.interruptedBy != 0 || !result.culprit || result.isReaderGone())
    return false;
  const ChildEnd &culprit = *result.culprit;
  if (const Verdict *verdict = result.verdict()) {
    bool isOwnWord = verdict->cause == Verdict::Cause::Failed || verdict->cause == Verdict::Cause::Mismatch ||
                     verdict->cause == Verdict::Cause::Interrupted;
    bool wasUsage = verdict->cause == Verdict::Cause::Exited && verdict->detail == 2;
    bool wasAsked = verdict->cause == Verdict::Cause::Exited && verdict->detail == 128 + SIGTERM;
    return !isOwnWord && !wasUsage && !wasAsked;
  }
  if (culprit.signal != 0)
    return true;
  bool cannotRun = culprit.status == 126 || culprit.status == 127; // The convention of shells and `env`.
  return !cannotRun && culprit.status != 2 && culprit.status != 128 + SIGTERM &&
         !result.reports[static_cast<size_t>(culprit.process)].error;
}

LaunchResult launchWithRestarts(
    LaunchOptions launch, const RestartOptions &options, RunLog &log, RunReport &report,
    const std::function<std::optional<int64_t>(LaunchOptions &launch, const LaunchResult &result)> &prepare) {
  // A signal between two attempts ends the job in order, too; during an attempt, launchLocal takes signals.
  SignalInlet signals{SIGINT, SIGTERM, SIGHUP};
  Milliseconds delay = std::min(options.delay, kMaxDelay);
  const std::vector<std::pair<std::string, std::string>> environment = launch.environment;
  for (int attempt = 0;; ++attempt) {
    launch.environment.emplace_back("SPMD_RESTART_COUNT", std::to_string(attempt));
    LaunchResult result = launchLocal(launch);
    report.describe(result);
    if (result.interruptedBy != 0)
      log.write(RunLog::Level::Warning, interruptionText(result.interruptedBy));
    if (attempt == options.count || !isFault(result))
      return result;
    if (options.minProcesses) {
      int32_t fewer = options.fit(std::max(launch.numProcesses - countDead(result), *options.minProcesses));
      if (fewer >= *options.minProcesses)
        launch.numProcesses = fewer;
    }
    launch.environment = environment;
    std::optional<int64_t> step = prepare(launch, result);
    log.write(RunLog::Level::Warning,
              result.cause() + "; restart " + std::to_string(attempt + 1) + " of " + std::to_string(options.count) +
                  " in " + secondsText(delay) + ", " +
                  (step ? "from the checkpoint of step " + std::to_string(*step) : "from the beginning") + ", with " +
                  countText(launch.numProcesses, "process", "processes"),
              result.verdict());
    report.addRestart(result.cause(), step, launch.numProcesses);
    if (int number = sleepUnlessSignalled(signals, delay)) {
      result.interruptedBy = number;
      report.describe(result);
      log.write(RunLog::Level::Warning, interruptionText(number));
      return result;
    }
    delay = std::min(2 * delay, kMaxDelay);
  }
}

} // namespace spmd
