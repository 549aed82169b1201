//===- ExplanationText.cpp - an explanation as text and as JSON -----------===//

#include "compiler/explain/Explanation.h"
#include "compiler/inspection/JsonParts.h"
#include "compiler/inspection/NumberedNames.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <map>
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

/// ` through multiply at x.spmd:3:4, add at x.spmd:3:2 and 2 more`: the operations between the annotation and the one
/// that needs the collective, which is left out.
std::string pathText(const std::vector<ProvenanceStep> &path) {
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

/// `2048@b`, as it is written, or what is known of it otherwise.
std::string writtenText(const ForcingAnnotationText &entry) {
  if (!entry.written.empty())
    return entry.written;
  const ForcingAnnotation &cause = entry.cause;
  return (cause.isReplicated ? "" : cause.axis + " in ") + "dimension " + std::to_string(cause.dim);
}

/// The lines of the causes of a group. Causes of one collective that differ only in the axis may give the same line,
/// which is printed once. In a group of several collectives and in an exported program, so are names that differ in
/// numbers, and constraints of one line of Python, with the first place.
std::vector<std::string> causeLines(const Explanation &explanation, const std::vector<size_t> &group) {
  struct Line {
    std::string before, link, after;
    std::vector<std::pair<std::string, std::string>> names; ///< As joinNumbered takes them.
  };
  std::vector<Line> lines;
  std::map<std::vector<std::string>, size_t> places;
  for (size_t member : group)
    for (const ForcingAnnotationText &entry : explanation.collectives[member].causes) {
      const ForcingAnnotation &cause = entry.cause;
      std::string written = writtenText(entry);
      std::string after =
          cause.isReplicated ? " keeps the dimension replicated over " + cause.axis : pathText(cause.path);
      bool isNamed = !cause.name.empty();
      bool isJoined = !entry.label.empty() || (isNamed && group.size() > 1);
      std::string name = isNamed ? "'" + cause.name + "'" : entry.label;
      std::string joined = isNamed || entry.isSignature ? withoutNumbers(name) : name;
      std::vector<std::string> key = {isJoined ? joined : entry.place + name, written, after};
      auto [place, isNew] = places.emplace(std::move(key), lines.size());
      if (isNew)
        lines.push_back({entry.place + ": " + written, isNamed ? " of " : " in ", after, {}});
      if (std::pair<std::string, std::string> text(name, ""); !llvm::is_contained(lines[place->second].names, text))
        lines[place->second].names.push_back(std::move(text));
    }
  std::vector<std::string> texts;
  for (const Line &line : lines) {
    std::vector<std::string> names;
    for (const auto &[name, first] : joinNumbered(line.names))
      if (!name.empty())
        names.push_back(name);
    texts.push_back(line.before + (names.empty() ? "" : line.link + llvm::join(names, ", ")) + line.after);
  }
  return texts;
}

std::string editText(const AnnotationEdit &edit) {
  std::string text;
  std::set<std::pair<std::string, std::string>> said;       // A P(...) of which two dimensions change is one change.
  std::vector<std::pair<std::string, std::string>> changes; // Where, and what.
  for (const DimEdit &dim : edit) {
    std::string what = "'" + dim.to + "'" + (dim.from.empty() ? "" : " instead of '" + dim.from + "'");
    std::string where = dim.label.empty() ? " at " + dim.place : " in " + dim.label;
    if (said.emplace(where, what).second)
      changes.emplace_back(where, what);
  }
  bool areArguments = llvm::all_of(edit, [](const DimEdit &dim) { return !dim.label.empty(); });
  for (const auto &[where, first] : joinNumbered(changes, areArguments ? 2 : changes.size() + 1))
    text += (text.empty() ? "" : " and ") + changes[first].second + where;
  return text;
}

/// The edit, and the totals of the edited program; FLOP and memory only if they differ.
std::string fixItText(const FixIt &removal, const ProgramTotals &now) {
  const ProgramTotals &then = removal.totals;
  std::string text = editText(removal.edit) + "\n     then " + totalsText(then);
  double work = now.flops > 0 ? then.flops / now.flops : 1;
  if (std::abs(work - 1) >= 0.005)
    text += ", " + std::to_string(std::lround(100 * work)) + " % of the FLOP";
  std::string memory = bytesText(static_cast<double>(then.peakBytes));
  if (std::string before = bytesText(static_cast<double>(now.peakBytes)); memory != before)
    text += ", memory " + before + " -> " + memory;
  text += "; predicted time " + timeText(now.seconds()) + " -> " + timeText(then.seconds());
  return text + (removal.isFaster ? "\n" : ", not faster\n");
}

std::string groupText(const Explanation &explanation, const std::vector<size_t> &group, size_t number) {
  const CollectiveExplanation &entry = explanation.collectives[group.front()];
  const CollectiveReport &collective = *entry.collective;
  const ProgramTotals &totals = explanation.totals;
  auto count = static_cast<double>(group.size());
  std::string text =
      std::to_string(number) + ". " + (group.size() == 1 ? "" : std::to_string(group.size()) + " times ") +
      collectiveTitle(collective) + ": " + bytesText(count * collective.wireBytesPerDevice) + " sent by each device" +
      (collective.tripCount == 1 ? "" : " " + std::to_string(collective.tripCount) + " times") + ", " +
      timeText(count * collective.totalSeconds()) + ", " +
      std::to_string(std::lround(100 * count * shareOf(collective, totals))) + " % of the communication\n";
  text += std::string("   ") + (collective.isBackward ? "backward of " : "") + collective.location +
          (entry.sourceLine.empty() ? "" : ": " + entry.sourceLine) + "\n";
  if (!collective.callPaths.empty() && collective.callPaths.front().size() > 1)
    text += "   called at " + llvm::join(llvm::ArrayRef(collective.callPaths.front()).drop_front(), ", from ") + "\n";
  for (const auto &[place, line] : entry.otherLines)
    text += "   " + place + (line.empty() ? "" : ": " + line) + "\n";
  if (!collective.why.empty())
    text += "   " + collective.why + "\n";
  if (collective.ring != RingDirections::None)
    text += "   " + collectiveMatmulText(collective, group.size()) + "\n";
  if (!collective.isCounted)
    text += "   " + std::string(kUncountedText) + "\n";
  if (std::string remark = whileText(collective); !remark.empty())
    text += "   " + remark + "\n";
  if (entry.causes.empty())
    text += "   no annotation forces it: the program itself calls for it\n";
  else
    text += "   forced by\n";
  for (const std::string &line : causeLines(explanation, group))
    text += "     " + line + "\n";
  const ChosenFixIts &proposal = entry.proposal;
  if (proposal.best) {
    text += "   removed if you write " + fixItText(*proposal.best, totals);
    if (proposal.faster)
      text += "   or, faster, if you write " + fixItText(*proposal.faster, totals);
    if (proposal.leaner)
      text += "   or, with less memory, if you write " + fixItText(*proposal.leaner, totals);
  } else if (entry.isIncomplete && entry.triedEdits == 0) {
    text += "   no change of these annotations was tried\n";
  } else if (!entry.causes.empty()) {
    text += entry.isIncomplete ? "   no change of these annotations that was tried removes it\n"
                               : "   no change of these annotations removes it\n";
  }
  return text;
}

Json totalsJson(const ProgramTotals &totals) {
  return {{"collectives", totals.collectives},
          {"wire_bytes_per_device", number(totals.wireBytes)},
          {"predicted_communication_us", microseconds(totals.communicationSeconds)},
          {"predicted_compute_us", microseconds(totals.computeSeconds)},
          {"predicted_us", microseconds(totals.seconds())},
          {"flops_per_device", number(totals.flops)},
          {"argument_bytes_per_device", totals.argumentBytes},
          {"peak_bytes_per_device", totals.peakBytes}};
}

Json fixItJson(const FixIt &removal) {
  Json edits = Json::array();
  for (const DimEdit &dim : removal.edit) {
    edits.push_back({{"loc", dim.place}, {"from", dim.from}, {"to", dim.to}});
    if (!dim.label.empty())
      edits.back()["of"] = dim.label;
  }
  Json json = {{"edits", std::move(edits)}};
  json.update(totalsJson(removal.totals));
  json["faster"] = removal.isFaster;
  return json;
}

Json causeJson(const ForcingAnnotationText &entry) {
  Json json = {{"loc", entry.place},       {"written", entry.written},
               {"name", entry.cause.name}, {"dim", entry.cause.dim},
               {"axis", entry.cause.axis}, {"kind", entry.cause.isReplicated ? "whole" : "cut"}};
  json["through"] = Json::array();
  for (const ProvenanceStep &point : entry.cause.path)
    json["through"].push_back({{"loc", point.place}, {"op", point.what}});
  return json;
}

Json entryJson(const CollectiveExplanation &entry, const ProgramTotals &totals) {
  Json json = collectiveJson(*entry.collective);
  json["source"] = entry.sourceLine;
  json["calls"] = Json::array();
  for (size_t i = 1; !entry.collective->callPaths.empty() && i < entry.collective->callPaths.front().size(); ++i)
    json["calls"].push_back(entry.collective->callPaths.front()[i]);
  json["share"] = std::round(shareOf(*entry.collective, totals) * 1e6) / 1e6;
  json["causes"] = Json::array();
  for (const ForcingAnnotationText &cause : entry.causes)
    json["causes"].push_back(causeJson(cause));
  const ChosenFixIts &proposal = entry.proposal;
  json["removal"] = proposal.best ? fixItJson(*proposal.best) : Json();
  json["alternatives"] = Json::array();
  for (const auto &[better, removal] : {std::pair("time", &proposal.faster), {"memory", &proposal.leaner}})
    if (*removal) {
      Json alternative = fixItJson(**removal);
      alternative["better"] = better;
      json["alternatives"].push_back(std::move(alternative));
    }
  return json;
}

} // namespace

std::string explanationText(const Explanation &explanation) {
  std::string text = meshTitle(explanation.inspection.report.mesh) + "\n" + totalsText(explanation.totals) + "\n";
  for (const FunctionReport &function : explanation.inspection.report.functions)
    for (const std::string &line : whileTexts(explanation.inspection, function))
      text += line + "\n";
  for (size_t i = 0; i < explanation.groups.size(); ++i)
    text += "\n" + groupText(explanation, explanation.groups[i], i + 1);
  if (explanation.isIncomplete) {
    size_t tried = explanation.triedEdits;
    std::string count = tried == 0   ? "no change of annotations was"
                        : tried == 1 ? "only 1 change of annotations was"
                                     : "only " + std::to_string(tried) + " changes of annotations were";
    text += "\n" + count + " tried; " +
            (explanation.isOutOfTime ? "the time limit was reached: --seconds N raises it" : "--tries N tries more") +
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
    if (!function.whileLoops.empty())
      entry["while_loops"] = whileLoopsJson(explanation.inspection, function);
    json["functions"].push_back(std::move(entry));
  }
  json["totals"] = totalsJson(explanation.totals);
  json["tried"] = explanation.triedEdits;
  json["all_tried"] = !explanation.isIncomplete;
  return json.dump(1) + "\n";
}

} // namespace spmdc
