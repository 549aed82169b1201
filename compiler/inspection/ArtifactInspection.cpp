//===- ArtifactInspection.cpp - the report of an artifact -----------------===//

#include "compiler/inspection/ArtifactInspection.h"

#include "compiler/inspection/JsonParts.h"
#include "runtime/artifact/MemoryUse.h"
#include "runtime/artifact/PlanPrinter.h"

namespace spmdc {
namespace {

int64_t peakBytes(const spmd::ArtifactReader &file, size_t target) {
  spmd::MemoryUse use = spmd::memoryUseOf(file.getProgram(target));
  use.constantBytes = file.getConstantBytes(target); // The program has none before it is taken.
  return use.peakBytes();
}

ValueReport reportValue(const spmd::ValueInfo &value) {
  ValueReport report{value.name, "", value.dtype, value.shape, value.localShape, value.sharding, value.format};
  if (value.format == spmd::ElementFormat::Complex) { // Without the dimension of the parts.
    report.shape.pop_back();
    report.localShape.pop_back();
    report.sharding.dims.resize(std::min(report.sharding.dims.size(), report.shape.size()));
  }
  return report;
}

} // namespace

std::string artifactTable(const spmd::ArtifactReader &file, const std::string &name, std::optional<size_t> here) {
  const spmd::Artifact &first = file.getProgram(0);
  std::vector<spmd::TargetInfo> targets = file.getTargets();
  std::string text = "artifact " + name + " of spmdc " + first.compilerVersion +
                     "\n\ntargets: " + std::to_string(targets.size()) + "\n";
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < targets.size(); ++i)
    rows.push_back({targets[i].str(), bytesText(static_cast<double>(file.getCodeBytes(i))) + " of code",
                    bytesText(static_cast<double>(file.getConstantBytes(i))) + " of constants",
                    bytesText(static_cast<double>(peakBytes(file, i))) + " of memory on each device",
                    here == i ? "runs here" : ""});
  text += tableText(rows) + "\n" + meshTitle(first.plan.mesh) + "\n\nfn " + first.plan.name + "\n";
  rows = {{"", "name", "global shape", "sharding", "local shape"}};
  auto add = [&](const char *kind, const std::vector<spmd::ValueInfo> &values) {
    for (const spmd::ValueInfo &value : values) {
      ValueReport report = reportValue(value);
      rows.push_back({kind, report.name, shapeText(report, report.shape), report.sharding.str(),
                      shapeText(report, report.localShape)});
    }
  };
  add("param", first.plan.params);
  add("result", first.plan.results);
  return text + tableText(rows);
}

std::string artifactJson(const spmd::ArtifactReader &file, std::optional<size_t> here) {
  const spmd::Plan &plan = file.getProgram(0).plan;
  Json json;
  json["spmdc"] = file.getProgram(0).compilerVersion;
  json["targets"] = Json::array();
  std::vector<spmd::TargetInfo> targets = file.getTargets();
  for (size_t i = 0; i < targets.size(); ++i)
    json["targets"].push_back({{"target", targets[i].str()},
                               {"code_bytes", file.getCodeBytes(i)},
                               {"constant_bytes", file.getConstantBytes(i)},
                               {"peak_bytes_per_device", peakBytes(file, i)},
                               {"runs_here", here == i}});
  json["mesh"] = meshJson(plan.mesh);
  auto values = [](const std::vector<spmd::ValueInfo> &infos) {
    std::vector<ValueReport> reports;
    for (const spmd::ValueInfo &info : infos)
      reports.push_back(reportValue(info));
    return valuesJson(reports, /*withLocation=*/false);
  };
  json["functions"] = Json::array();
  json["functions"].push_back(
      {{"name", plan.name}, {"params", values(plan.params)}, {"results", values(plan.results)}});
  return json.dump(1) + "\n";
}

} // namespace spmdc
