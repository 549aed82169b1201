//===- ExplanationText.cpp - an explanation for people and scripts --------===//

#include "tools/spmdc/Explanation.h"
#include "tools/spmdc/InspectionJson.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace spmdc {
namespace {

std::string plural(size_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string totalsText(const ProgramTotals &totals) {
  return plural(totals.collectives, "collective") + ", " + bytesText(totals.wireBytes) + " sent by each device, " +
         timeText(totals.communicationSeconds);
}

double shareOf(const CollectiveReport &collective, const ProgramTotals &totals) {
  return totals.communicationSeconds > 0 ? collective.countedSeconds() / totals.communicationSeconds : 0;
}

/// `(through multiply at x.spmd:3:4, then add at x.spmd:3:2)`, without the operation that needs the collective.
std::string wayText(const std::vector<CausePoint> &path) {
  constexpr size_t shown = 3;
  size_t count = path.empty() ? 0 : path.size() - 1;
  if (count == 0)
    return "";
  std::string text;
  for (size_t i = 0; i < std::min(count, shown); ++i)
    text += (i ? ", " : " through ") + path[i].what + " at " + path[i].place;
  if (count > shown)
    text += " and " + std::to_string(count - shown) + " more";
  return text;
}

std::string causeText(const CauseText &entry) {
  const Cause &cause = entry.cause;
  std::string what = entry.written;
  if (what.empty())
    what = (cause.isWhole ? "" : cause.axis + " in ") + "dimension " + std::to_string(cause.dim);
  if (!cause.name.empty())
    what += " of '" + cause.name + "'";
  if (cause.isWhole)
    return entry.place + ": " + what + " keeps it whole over " + cause.axis;
  return entry.place + ": " + what + wayText(cause.path);
}

std::string editText(const AnnotationEdit &edit) {
  std::string text;
  for (const DimEdit &dim : edit)
    text += (text.empty() ? "'" : " and '") + dim.to + "'" +
            (dim.from.empty() ? "" : " in place of '" + dim.from + "'") + " at " + dim.place;
  return text;
}

std::string entryText(const CollectiveExplanation &entry, size_t number, const ProgramTotals &totals) {
  const CollectiveReport &collective = *entry.collective;
  std::string text = std::to_string(number) + ". " + collectiveTitle(collective) + ": " +
                     bytesText(collective.wireBytesPerDevice) + " sent by each device" +
                     (collective.tripCount == 1 ? "" : " " + std::to_string(collective.tripCount) + " times") + ", " +
                     timeText(collective.totalSeconds()) + ", " +
                     std::to_string(std::lround(100 * shareOf(collective, totals))) + " % of the communication\n";
  text += "   " + collective.location + (entry.sourceLine.empty() ? "" : ": " + entry.sourceLine) + "\n";
  for (const auto &[place, line] : entry.otherLines)
    text += "   " + place + (line.empty() ? "" : ": " + line) + "\n";
  if (!collective.why.empty())
    text += "   " + collective.why + "\n";
  if (collective.ring != RingWay::None)
    text += "   " + ringText(collective) + "\n";
  if (!collective.isCounted)
    text += "   " + std::string(kOtherArmText) + "\n";
  if (entry.causes.empty())
    text += "   no annotation forces it: the program asks for it there\n";
  else
    text += "   forced by\n";
  // Several axes of one mark are one line.
  std::set<std::string> said;
  for (const CauseText &cause : entry.causes)
    if (std::string line = causeText(cause); said.insert(line).second)
      text += "     " + line + "\n";
  if (entry.removal) {
    const Removal &removal = *entry.removal;
    double work = totals.flops > 0 ? removal.totals.flops / totals.flops : 1;
    text += "   gone with " + editText(removal.edit) + "\n     then " + totalsText(removal.totals);
    if (std::abs(work - 1) >= 0.005)
      text += ", " + std::to_string(std::lround(100 * work)) + " % of the operations";
    if (removal.totals.argumentBytes != totals.argumentBytes)
      text += ", " + bytesText(static_cast<double>(removal.totals.argumentBytes)) + " of arguments for " +
              bytesText(static_cast<double>(totals.argumentBytes));
    text += removal.isFaster ? "\n" : ": not faster than now\n";
  } else if (entry.isCutShort && entry.triedEdits == 0) {
    text += "   no change of these annotations was tried\n";
  } else if (!entry.causes.empty()) {
    text += entry.isCutShort ? "   no change of these annotations that was tried removes it\n"
                             : "   no change of these annotations removes it\n";
  }
  return text;
}

Json totalsJson(const ProgramTotals &totals) {
  return {{"collectives", totals.collectives},
          {"wire_bytes_per_device", number(totals.wireBytes)},
          {"predicted_communication_us", microseconds(totals.communicationSeconds)},
          {"flops_per_device", number(totals.flops)},
          {"argument_bytes_per_device", totals.argumentBytes}};
}

Json causeJson(const CauseText &entry) {
  Json json = {{"loc", entry.place},     {"written", entry.written}, {"name", entry.cause.name},
               {"dim", entry.cause.dim}, {"axis", entry.cause.axis}, {"kind", entry.cause.isWhole ? "whole" : "cut"}};
  json["through"] = Json::array();
  for (const CausePoint &point : entry.cause.path)
    json["through"].push_back({{"loc", point.place}, {"op", point.what}});
  return json;
}

Json entryJson(const CollectiveExplanation &entry, const ProgramTotals &totals) {
  Json json = collectiveJson(*entry.collective);
  json["source"] = entry.sourceLine;
  json["share"] = std::round(shareOf(*entry.collective, totals) * 1e6) / 1e6;
  json["causes"] = Json::array();
  for (const CauseText &cause : entry.causes)
    json["causes"].push_back(causeJson(cause));
  json["removal"] = nullptr;
  if (entry.removal) {
    Json edits = Json::array();
    for (const DimEdit &dim : entry.removal->edit)
      edits.push_back({{"loc", dim.place}, {"from", dim.from}, {"to", dim.to}});
    Json removal = {{"edits", std::move(edits)}};
    removal.update(totalsJson(entry.removal->totals));
    removal["faster"] = entry.removal->isFaster;
    json["removal"] = std::move(removal);
  }
  return json;
}

} // namespace

std::string explanationText(const Explanation &explanation) {
  std::string text = meshTitle(explanation.inspection.report.mesh) + "\n" + totalsText(explanation.totals) + "\n";
  std::vector<const CollectiveExplanation *> byCost;
  for (const CollectiveExplanation &entry : explanation.collectives)
    byCost.push_back(&entry);
  std::sort(byCost.begin(), byCost.end(), [](const auto *a, const auto *b) {
    double left = a->collective->countedSeconds(), right = b->collective->countedSeconds();
    return left != right ? left > right : a < b; // Neighbours in one list.
  });
  for (size_t i = 0; i < byCost.size(); ++i)
    text += "\n" + entryText(*byCost[i], i + 1, explanation.totals);
  if (explanation.isCutShort) {
    size_t tried = explanation.triedEdits;
    std::string count = tried == 0   ? "no change of annotations was"
                        : tried == 1 ? "only 1 change of annotations was"
                                     : "only " + std::to_string(tried) + " changes of annotations were";
    text +=
        "\n" + count + " tried; " +
        (explanation.isOutOfTime ? "there was no time for others: --seconds N tries longer" : "--tries N tries more") +
        "\n";
  }
  return text;
}

std::string explanationJson(const Explanation &explanation) {
  Json json;
  json["spmdc"] = SPMDC_VERSION;
  json["mesh"] = meshJson(explanation.inspection.report.mesh);
  json["functions"] = Json::array();
  size_t next = 0;
  for (const FunctionReport &function : explanation.inspection.report.functions) {
    Json entry = {{"name", function.name}, {"collectives", Json::array()}};
    for (size_t i = 0; i < function.collectives.size(); ++i)
      entry["collectives"].push_back(entryJson(explanation.collectives[next++], explanation.totals));
    json["functions"].push_back(std::move(entry));
  }
  json["totals"] = totalsJson(explanation.totals);
  json["tried"] = explanation.triedEdits;
  json["all_tried"] = !explanation.isCutShort;
  return json.dump(1) + "\n";
}

} // namespace spmdc
