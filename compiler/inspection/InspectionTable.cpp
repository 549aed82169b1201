//===- InspectionTable.cpp - the report of a program as a table -----------===//

#include "compiler/inspection/InspectionText.h"

#include "compiler/inspection/NumberedNames.h"
#include "runtime/support/CountText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Unicode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <set>

namespace spmdc {
namespace {

using Row = std::vector<std::string>;

Row valueRow(const std::string &kind, const ValueReport &value) {
  return {kind,
          value.name,
          shapeText(value, value.shape),
          value.sharding.str(),
          shapeText(value, value.localShape),
          value.location};
}

/// The rows of values of one kind. `fewestAlike` or more whose names differ in a number only have one row, with the
/// place of the first one.
std::vector<Row> valueRows(const std::string &kind, const std::vector<ValueReport> &values, size_t fewestAlike) {
  std::vector<Row> rows, result;
  std::vector<std::pair<std::string, std::string>> names;
  for (const ValueReport &value : values) {
    const Row &row = rows.emplace_back(valueRow(kind, value));
    names.emplace_back(value.name, row[2] + " " + row[3]);
  }
  for (const auto &[name, first] : joinNumbered(names, fewestAlike)) {
    result.push_back(rows[first]);
    result.back()[1] = name;
  }
  return result;
}

std::string axesText(const CollectiveReport &collective) {
  std::string text;
  for (const std::string &axis : collective.axes)
    text += (text.empty() ? "" : ", ") + axis;
  return text;
}

/// `37`, or `37.5` for a mean of several calls.
std::string runsText(double runs) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, runs == std::floor(runs) ? "%.0f" : "%.1f", runs);
  return std::string(buffer) + (runs == 1 ? " run" : " runs");
}

/// Empty without a measurement. Collectives of one kind at one place, and combined ones, are measured together; each of
/// them shows the sum.
std::string measuredText(const std::optional<MeasuredTimes> &measured, const CollectiveReport &collective) {
  double seconds = measured ? measured->secondsOf(collective) : 0;
  if (seconds <= 0)
    return "";
  std::string text = ", measured " + timeText(seconds);
  if (!collective.whileLoops.empty()) // The prediction is that of one iteration.
    text += " in " + runsText(measured->runsOf(collective));
  return text;
}

std::string whilePlace(const std::string &location) {
  return location.empty() ? "a 'while'" : "the 'while' at " + location;
}

/// Columns of a terminal: a letter may have several bytes, and take two columns.
size_t columnsOf(llvm::StringRef text) {
  int columns = llvm::sys::unicode::columnWidthUTF8(text);
  return columns < 0 ? text.size() : static_cast<size_t>(columns);
}

} // namespace

std::string tableText(const std::vector<Row> &rows) {
  std::vector<size_t> widths;
  for (const Row &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], columnsOf(row[i]));
    }
  std::string text;
  for (const Row &row : rows) {
    std::string line = "  ";
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size())
        line += std::string(widths[i] - columnsOf(row[i]) + 2, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

static std::string shapeText(std::string text, const std::vector<int64_t> &shape) {
  text += "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string shapeText(spmd::DType dtype, const std::vector<int64_t> &shape) {
  return shapeText(std::string(spmd::dtypeName(dtype)), shape);
}

std::string shapeText(const ValueReport &value, const std::vector<int64_t> &shape) {
  return shapeText(value.elementName(), shape);
}

std::string countText(double count) {
  static constexpr std::array<const char *, 6> kUnits = {"", " K", " M", " G", " T", " P"};
  size_t unit = 0;
  while (count >= 1000 && unit + 1 < kUnits.size()) {
    count /= 1000;
    ++unit;
  }
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, unit ? "%.2f%s" : "%.0f%s", count, kUnits[unit]);
  return buffer;
}

std::string operationsText(double count) { return countText(count) + (count < 1000 ? " FLOP" : "FLOP"); }

std::string timeText(double seconds) {
  static constexpr std::array<const char *, 4> kUnits = {"ns", "us", "ms", "s"};
  if (seconds <= 0)
    return "0 s";
  double value = seconds * 1e9;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  char buffer[32];
  std::snprintf(buffer, sizeof buffer,
                value < 9.995   ? "%.2f %s"
                : value < 99.95 ? "%.1f %s"
                                : "%.0f %s",
                value, kUnits[unit]);
  return buffer;
}

std::string collectiveTitle(const CollectiveReport &collective) {
  return collective.op + (collective.reduction.empty() ? "" : " " + collective.reduction) + " over " +
         axesText(collective);
}

std::string whileText(const CollectiveReport &collective) {
  std::string text;
  for (const std::string &location : collective.whileLoops)
    text += (text.empty() ? "counts for one iteration of " : ", in ") + whilePlace(location);
  return text;
}

std::vector<std::string> whileTexts(const Inspection &inspection, const FunctionReport &function) {
  std::vector<std::string> texts;
  for (const WhileReport &loop : function.whileLoops) {
    std::string each = loop.copies == 1 ? "each further one adds "
                                        : "one more in each of its " + std::to_string(loop.copies) + " copies adds ";
    texts.push_back(whilePlace(loop.location) + " counts as one iteration, as their number is unknown; " + each +
                    operationsText(loop.flopsPerDevice) + ", " + bytesText(loop.wireBytesPerDevice) + " sent, " +
                    timeText(loop.communicationSeconds) + " of communication, " +
                    timeText(inspection.computeSecondsOf(loop)) + " of computation");
  }
  return texts;
}

std::string collectiveMatmulText(const CollectiveReport &collective, size_t count) {
  auto factor = static_cast<double>(count);
  return "collective matmul around a ring, " + std::string(ringDirectionsName(collective.ring)) + ": " +
         timeText(factor * collective.hiddenSeconds) + " of " + timeText(factor * collective.predictedSeconds) +
         " overlap with the matrix product";
}

std::string combiningText(const FunctionReport &function) {
  size_t count = function.collectives.size();
  if (function.combinedAway == 0 || function.combinedAway >= count)
    return "";
  return "the " + std::to_string(count) + " collectives are done in " +
         spmd::countText(static_cast<int64_t>(count - function.combinedAway), "call") +
         ", as small ones of one kind over the same axes are combined; this saves " +
         timeText(function.combiningSaves) + " of the communication";
}

std::string meshTitle(const spmd::MeshShape &mesh) {
  std::string text = "mesh";
  for (const spmd::MeshAxis &axis : mesh.axes)
    text += " " + axis.name + "=" + std::to_string(axis.size);
  return text + " (" + spmd::countText(mesh.deviceCount(), "device") + ")";
}

/// The lines of `count` collectives that are alike, with the bytes and the time of all of them.
static std::string collectiveText(const CollectiveReport &collective, const std::optional<MeasuredTimes> &measured,
                                  size_t count) {
  auto factor = static_cast<double>(count);
  std::string text =
      tableText({{(count == 1 ? "" : std::to_string(count) + " times ") + collectiveTitle(collective),
                  shapeText(collective.dtype, collective.operandShape) + " -> " +
                      shapeText(collective.dtype, collective.resultShape),
                  spmd::countText(collective.groups, "group") + " of " + std::to_string(collective.groupSize),
                  bytesText(factor * collective.wireBytesPerDevice) + " sent by each device" +
                      (collective.tripCount == 1 ? "" : " " + std::to_string(collective.tripCount) + " times"),
                  timeText(factor * collective.totalSeconds()) + measuredText(measured, collective),
                  (collective.isBackward ? "backward of " : "") + collective.location}});
  text += "    " + collective.why + "\n";
  if (collective.ring != RingDirections::None)
    text += "    " + collectiveMatmulText(collective, count) + "\n";
  if (!collective.isCounted)
    text += "    " + std::string(kUncountedText) + "\n";
  if (std::string remark = whileText(collective); !remark.empty())
    text += "    " + remark + "\n";
  return text;
}

/// The collectives in the order of the program, those with equal lines at the place of the first one.
static std::string collectivesText(const std::vector<CollectiveReport> &collectives,
                                   const std::optional<MeasuredTimes> &measured, size_t fewestAlike) {
  std::map<std::string, size_t> counts;
  std::vector<std::string> texts;
  for (const CollectiveReport &collective : collectives)
    ++counts[texts.emplace_back(collectiveText(collective, measured, 1))];
  std::string text;
  std::set<std::string> said;
  for (size_t i = 0; i < collectives.size(); ++i)
    if (size_t count = counts[texts[i]]; count < fewestAlike)
      text += texts[i];
    else if (said.insert(texts[i]).second)
      text += collectiveText(collectives[i], measured, count);
  return text;
}

std::string inspectionTable(const Inspection &inspection, const std::optional<MeasuredTimes> &measured,
                            bool joinsLayers) {
  // Two layers are shown one by one.
  const size_t fewestAlike = joinsLayers ? 3 : std::numeric_limits<size_t>::max();
  const ProgramReport &report = inspection.report;
  std::string text = meshTitle(report.mesh) + "\n";
  for (const FunctionReport &function : report.functions) {
    text += "\nfn " + function.name + "\n";
    std::vector<Row> rows = {{"", "name", "global shape", "sharding", "local shape", "at"}};
    for (auto [kind, values] :
         {std::pair("param", &function.params), {"value", &function.values}, {"result", &function.results}})
      for (Row &row : valueRows(kind, *values, fewestAlike))
        rows.push_back(std::move(row));
    text += tableText(rows);
    text += "\ncollectives: " + std::to_string(function.collectives.size()) + "\n";
    text += collectivesText(function.collectives, measured, fewestAlike);
    text += "\nper device: " + operationsText(function.flopsPerDevice) + ", " + bytesText(function.wireBytesPerDevice) +
            " sent, " + bytesText(static_cast<double>(function.argumentBytesPerDevice)) + " of arguments, " +
            bytesText(static_cast<double>(inspection.peakBytesPerDevice)) + " of memory in total\n" +
            "predicted: " + timeText(function.communicationSeconds) + " of communication, " +
            timeText(inspection.computeSeconds()) + " of computation" +
            (function.ringSaves > 0 ? ", " + timeText(function.ringSaves) + " of them overlapped" : "") + "\n";
    if (std::string line = combiningText(function); !line.empty())
      text += "combined:  " + line + "\n";
    for (const std::string &line : whileTexts(inspection, function))
      text += "while:     " + line + "\n";
    if (size_t products = llvm::count_if(inspection.work, [](const WorkReport &work) { return work.allowsTf32; }))
      text += "TF32:      " + spmd::countText(products, "matrix product") +
              " of f32 may round factors to TF32 (--allow-tf32)\n";
    if (measured)
      text += "measured:  " + timeText(measured->communicationSeconds) + " of communication, " +
              timeText(measured->computeSeconds) + " of computation, " + timeText(measured->callSeconds) +
              " per call (mean over all devices and " + spmd::countText(measured->calls, "call") + ")\n";
  }
  return text;
}

} // namespace spmdc
