//===- MeasuredTimes.cpp - times of a program from a trace ----------------===//

#include "compiler/inspection/MeasuredTimes.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace spmdc {
namespace {

using Json = nlohmann::json;

/// `mlp.spmd:5:7` of `models/mlp.spmd:5:7`: the run that wrote the trace may have started in another folder.
std::string placeOf(const std::string &location) { return location.substr(location.find_last_of('/') + 1); }

/// Whether a step contains other steps, whose times are counted instead.
bool isContainer(const std::string &name) { return name == "for" || name == "while" || name == "if"; }

Json readTrace(const std::string &fileName) {
  std::ifstream file(fileName, std::ios::binary);
  if (!file)
    throw spmd::Error("cannot read '" + fileName + "': " + std::strerror(errno));
  Json trace = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array())
    throw spmd::Error("'" + fileName + "' is not a trace; `spmdc run --profile FILE` writes one");
  return trace;
}

} // namespace

MeasuredTimes MeasuredTimes::read(const std::string &fileName) {
  MeasuredTimes times;
  std::set<std::pair<int64_t, int64_t>> devices;
  std::set<int64_t> launches;
  try {
    const Json trace = readTrace(fileName);
    auto forEachSpan = [&](auto visit) {
      for (const Json &event : trace["traceEvents"])
        if (event.value("ph", "") == "X")
          visit(event, event.at("name").get<std::string>(), event.value("cat", ""), event.at("dur").get<double>() / 1e6,
                event.at("args").at("launch").get<int64_t>());
    };
    forEachSpan([&](const Json &event, const std::string &, const std::string &category, double, int64_t launch) {
      if (category != "launch")
        return;
      devices.insert({event.at("pid").get<int64_t>(), event.at("tid").get<int64_t>()});
      launches.insert(launch);
    });
    if (launches.empty())
      throw spmd::Error("the trace '" + fileName + "' has no call: its run ended before the first one");
    if (launches.size() > 1)
      launches.erase(launches.begin());
    times.calls = static_cast<int64_t>(launches.size());
    times.deviceCalls = static_cast<int64_t>(launches.size() * devices.size());
    double share = 1 / static_cast<double>(times.deviceCalls);
    forEachSpan(
        [&](const Json &event, const std::string &name, const std::string &category, double seconds, int64_t launch) {
          if (!launches.count(launch))
            return;
          if (category == "launch") {
            times.callSeconds += share * seconds;
          } else if (category == "collective") {
            times.communicationSeconds += share * seconds;
            const Json &args = event.at("args");
            std::string place = placeOf(args.value("source", ""));
            auto axes = args.value("axes", std::vector<std::string>());
            Times &own = times.collectives[{name.substr(0, name.find(' ')), place, axes}];
            own.seconds += share * seconds;
            ++own.runs[args.value("step", int64_t(-1))];
          } else if (category == "step" && !isContainer(name)) {
            times.computeSeconds += share * seconds;
          }
        });
  } catch (const Json::exception &) {
    throw spmd::Error("'" + fileName + "' is not a trace of `spmdc run --profile FILE`");
  }
  return times;
}

MeasuredTimes::Key MeasuredTimes::keyOf(const CollectiveReport &collective) {
  return {collective.op, placeOf(collective.location), collective.axes};
}

double MeasuredTimes::secondsOf(const CollectiveReport &collective) const {
  auto known = collectives.find(keyOf(collective));
  return known == collectives.end() ? 0 : known->second.seconds;
}

double MeasuredTimes::runsOf(const CollectiveReport &collective) const {
  int64_t runs = 0;
  if (auto known = collectives.find(keyOf(collective)); known != collectives.end() && !collective.whileLoops.empty())
    for (const auto &[step, count] : known->second.runs)
      runs = std::max(runs, count);
  return runs > 0 ? static_cast<double>(runs) / static_cast<double>(deviceCalls)
                  : static_cast<double>(std::max<int64_t>(1, collective.tripCount));
}

} // namespace spmdc
