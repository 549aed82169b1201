//===- InspectionJson.cpp - the report of a program as JSON -------------------===//

#include "compiler/inspection/InspectionJson.h"

#include "compiler/inspection/JsonParts.h"

#include <cmath>

namespace spmdc {

Json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15)
    return static_cast<int64_t>(value);
  return value;
}

Json microseconds(double seconds) { return number(std::round(seconds * 1e9) / 1e3); }

Json meshJson(const spmd::MeshShape &mesh) {
  Json list = Json::array();
  for (const spmd::MeshAxis &axis : mesh.axes)
    list.push_back({{"axis", axis.name}, {"size", axis.size}});
  return list;
}

namespace {

Json axesJson(const std::vector<spmd::AxisRef> &axes) {
  Json list = Json::array();
  for (const spmd::AxisRef &axis : axes)
    list.push_back(axis.str());
  return list;
}

Json valueJson(const ValueReport &value, bool withLocation) {
  Json json;
  json["name"] = value.name;
  if (withLocation)
    json["loc"] = value.location;
  json["dtype"] = value.elementName();
  json["shape"] = value.shape;
  json["sharding"] = Json::array();
  for (const auto &axes : value.sharding.dims)
    json["sharding"].push_back(axesJson(axes));
  if (!value.sharding.unreduced.empty())
    json["unreduced"] = axesJson(value.sharding.unreduced);
  json["local_shape"] = value.localShape;
  return json;
}

} // namespace

Json valuesJson(const std::vector<ValueReport> &values, bool withLocation) {
  Json list = Json::array();
  for (const ValueReport &value : values)
    list.push_back(valueJson(value, withLocation));
  return list;
}

Json whileLoopsJson(const Inspection &inspection, const FunctionReport &function) {
  Json list = Json::array();
  for (const WhileReport &loop : function.whileLoops)
    list.push_back({{"loc", loop.location},
                    {"copies", loop.copies},
                    {"flops_per_device", number(loop.flopsPerDevice)},
                    {"wire_bytes_per_device", number(loop.wireBytesPerDevice)},
                    {"predicted_communication_us", microseconds(loop.communicationSeconds)},
                    {"predicted_compute_us", microseconds(inspection.computeSecondsOf(loop))}});
  return list;
}

Json collectiveJson(const CollectiveReport &collective) {
  Json json;
  json["op"] = collective.op;
  json["axes"] = collective.axes;
  if (!collective.reduction.empty())
    json["reduction"] = collective.reduction;
  json["dtype"] = spmd::dtypeName(collective.dtype);
  json["operand_shape"] = collective.operandShape;
  json["result_shape"] = collective.resultShape;
  json["group_size"] = collective.groupSize;
  json["groups"] = collective.groups;
  json["wire_bytes_per_device"] = number(collective.wireBytesPerDevice);
  json["trip_count"] = collective.tripCount;
  json["steps"] = collective.steps;
  json["predicted_us"] = microseconds(collective.predictedSeconds);
  if (collective.ring != RingDirections::None) {
    json["ring"] = ringDirectionsName(collective.ring);
    json["hidden_us"] = microseconds(collective.hiddenSeconds);
  }
  if (!collective.isCounted)
    json["counted"] = false;
  if (!collective.whileLoops.empty())
    json["while_loops"] = collective.whileLoops;
  json["loc"] = collective.location;
  if (collective.isBackward)
    json["backward"] = true;
  if (collective.places.size() > 1)
    json["locs"] = collective.places;
  json["why"] = collective.why;
  return json;
}

namespace {

Json workJson(const WorkReport &work) {
  Json json;
  json["kind"] = work.kind;
  if (!work.name.empty())
    json["name"] = work.name;
  if (work.allowsTf32)
    json["allow_tf32"] = true;
  json["flops"] = number(work.contractionFlops);
  json["bytes"] = number(work.memoryBytes);
  json["trip_count"] = work.tripCount;
  json["predicted_us"] = microseconds(work.predictedSeconds);
  if (!work.isCounted)
    json["counted"] = false;
  for (const WhileAround &loop : llvm::reverse(work.whileLoops))
    json["while_loops"].push_back(loop.location);
  json["loc"] = work.location;
  return json;
}

} // namespace

std::string inspectionJson(const Inspection &inspection, const std::optional<MeasuredTimes> &measured) {
  Json json;
  json["spmdc"] = SPMDC_VERSION;
  json["mesh"] = meshJson(inspection.report.mesh);
  json["functions"] = Json::array();
  for (const FunctionReport &function : inspection.report.functions) {
    Json entry;
    entry["name"] = function.name;
    entry["params"] = valuesJson(function.params, false);
    entry["results"] = valuesJson(function.results, false);
    entry["values"] = valuesJson(function.values, true);
    entry["collectives"] = Json::array();
    for (const CollectiveReport &collective : function.collectives)
      entry["collectives"].push_back(collectiveJson(collective));
    if (measured)
      for (auto [index, collective] : llvm::enumerate(function.collectives)) {
        double runs = measured->runsOf(collective);
        entry["collectives"][index]["measured_us"] = microseconds(measured->secondsOf(collective) / runs);
        entry["collectives"][index]["measured_runs"] = number(runs);
      }
    entry["flops_per_device"] = number(function.flopsPerDevice);
    entry["peak_bytes_per_device"] = inspection.peakBytesPerDevice;
    entry["argument_bytes_per_device"] = function.argumentBytesPerDevice;
    entry["wire_bytes_per_device"] = number(function.wireBytesPerDevice);
    if (!function.whileLoops.empty())
      entry["while_loops"] = whileLoopsJson(inspection, function);
    entry["work"] = Json::array();
    for (const WorkReport &work : inspection.work)
      entry["work"].push_back(workJson(work));
    entry["predicted_communication_us"] = microseconds(function.communicationSeconds);
    entry["combining_saves_us"] = microseconds(function.combiningSaves);
    entry["ring_saves_us"] = microseconds(function.ringSaves);
    entry["predicted_compute_us"] = microseconds(inspection.computeSeconds());
    if (measured) {
      entry["measured_communication_us"] = microseconds(measured->communicationSeconds);
      entry["measured_compute_us"] = microseconds(measured->computeSeconds);
      entry["measured_call_us"] = microseconds(measured->callSeconds);
    }
    json["functions"].push_back(std::move(entry));
  }
  return json.dump(1) + "\n";
}

} // namespace spmdc
