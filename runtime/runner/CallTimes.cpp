//===- CallTimes.cpp - durations of calls ---------------------------------===//

#include "runtime/runner/CallTimes.h"

#include "runtime/support/CountText.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace spmd {
namespace {

double rounded(double value) { return static_cast<double>(static_cast<int64_t>(value * 1000 + 0.5)) / 1000; }

std::string number(double value) { return nlohmann::json(rounded(value)).dump(); }

} // namespace

int64_t steadyNs() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<double> CallDurations::getCounted() const {
  return {durations.begin() + (durations.size() > 1 ? 1 : 0), durations.end()};
}

std::string RunTimes::text() const {
  if (runs == 0)
    return "no call was timed; first result after " + number(firstResultMs) + " ms";
  return "median " + number(medianUs) + " us, minimum " + number(minUs) + " us, maximum " + number(maxUs) + " us of " +
         countText(static_cast<int64_t>(runs), "call") + "; first result after " + number(firstResultMs) + " ms";
}

std::string RunTimes::json() const {
  using Json = nlohmann::ordered_json;
  auto timed = [&](double value) { return runs > 0 ? Json(rounded(value)) : Json(nullptr); };
  Json json = {{"median_us", timed(medianUs)},     {"min_us", timed(minUs)},
               {"max_us", timed(maxUs)},           {"runs", runs},
               {"compile_ms", rounded(compileMs)}, {"first_result_ms", rounded(firstResultMs)}};
  return json.dump(2) + "\n";
}

RunTimes slowestTimes(Job &job, double firstResultMs, std::vector<double> durationsUs) {
  durationsUs.push_back(firstResultMs);
  std::string own(reinterpret_cast<const char *>(durationsUs.data()), durationsUs.size() * sizeof(double));
  for (const std::string &other : job.exchangeAll({"times", "the collection of times"}, own))
    for (size_t i = 0; i < durationsUs.size() && (i + 1) * sizeof(double) <= other.size(); ++i) {
      double value;
      std::memcpy(&value, other.data() + i * sizeof(double), sizeof value);
      durationsUs[i] = std::max(durationsUs[i], value);
    }
  RunTimes times;
  times.firstResultMs = durationsUs.back();
  durationsUs.pop_back();
  times.runs = durationsUs.size();
  if (durationsUs.empty())
    return times;
  std::sort(durationsUs.begin(), durationsUs.end());
  size_t middle = durationsUs.size() / 2;
  times.minUs = durationsUs.front();
  times.maxUs = durationsUs.back();
  times.medianUs = durationsUs.size() % 2 ? durationsUs[middle] : (durationsUs[middle - 1] + durationsUs[middle]) / 2;
  return times;
}

} // namespace spmd
