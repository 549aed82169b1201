//===- Comparison.cpp - the report of `explain --diff` --------------------===//

#include "compiler/explain/Comparison.h"

#include "compiler/Importer.h"
#include "compiler/OtherSources.h"
#include "compiler/inspection/JsonParts.h"
#include "runtime/support/ByteText.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>

namespace spmdc {
namespace {

struct Entry {
  const CollectiveReport *collective;
  std::string line;
  bool isMatched = false;
};

/// The text of the line: in the program, or in the Python program that it was exported from; else the line's number.
std::string lineOf(const ComparedProgram &program, OtherSources &otherSources, const std::string &location) {
  std::string_view line = program.source.lineOf(location);
  if (line.empty())
    line = otherSources.lineOf(location);
  return line.empty() ? location.substr(0, location.rfind(':')) : std::string(line);
}

std::vector<Entry> entriesOf(const ComparedProgram &program) {
  OtherSources otherSources;
  std::vector<Entry> entries;
  for (const FunctionReport &function : program.inspection.report.functions)
    for (const CollectiveReport &collective : function.collectives)
      entries.push_back({&collective, lineOf(program, otherSources, collective.location)});
  return entries;
}

struct Match {
  const CollectiveReport *a, *b; ///< One of them is null if only the other program has the collective.
};

std::vector<Match> match(const ComparedProgram &a, const ComparedProgram &b) {
  std::vector<Entry> left = entriesOf(a), right = entriesOf(b);
  std::vector<const CollectiveReport *> partners(left.size(), nullptr);
  for (auto [withAxes, withBytes] : {std::pair(true, true), {true, false}, {false, false}})
    for (size_t i = 0; i < left.size(); ++i) {
      if (partners[i])
        continue;
      const CollectiveReport &own = *left[i].collective;
      auto partner = std::find_if(right.begin(), right.end(), [&](const Entry &entry) {
        const CollectiveReport &other = *entry.collective;
        return !entry.isMatched && other.op == own.op && other.reduction == own.reduction &&
               entry.line == left[i].line && other.isBackward == own.isBackward &&
               (!withAxes || other.axes == own.axes) && (!withBytes || other.totalWireBytes() == own.totalWireBytes());
      });
      if (partner == right.end())
        continue;
      partner->isMatched = true;
      partners[i] = partner->collective;
    }
  std::vector<Match> matches;
  for (size_t i = 0; i < left.size(); ++i)
    matches.push_back({left[i].collective, partners[i]});
  for (const Entry &entry : right)
    if (!entry.isMatched)
      matches.push_back({nullptr, entry.collective});
  return matches;
}

bool isSame(const Match &match) {
  return match.a && match.b && match.a->axes == match.b->axes &&
         match.a->wireBytesPerDevice == match.b->wireBytesPerDevice && match.a->tripCount == match.b->tripCount;
}

struct Total {
  const char *key;
  const char *title;
  double value;
  std::string text;
  bool isBytes = false;
};

std::vector<Total> totalsOf(const Inspection &inspection) {
  double collectives = 0, bytes = 0, seconds = 0, flops = 0;
  for (const FunctionReport &function : inspection.report.functions) {
    collectives += static_cast<double>(function.collectives.size());
    bytes += function.wireBytesPerDevice;
    seconds += function.communicationSeconds;
    flops += function.flopsPerDevice;
  }
  auto memory = static_cast<double>(inspection.peakBytesPerDevice);
  auto microsecondsOf = [](double value) { return microseconds(value).get<double>(); };
  return {{"collectives", "collectives", collectives, countText(collectives)},
          {"wire_bytes_per_device", "sent by each device", bytes, bytesText(bytes), true},
          {"predicted_communication_us", "communication", microsecondsOf(seconds), timeText(seconds)},
          {"predicted_compute_us", "computation", microsecondsOf(inspection.computeSeconds()),
           timeText(inspection.computeSeconds())},
          {"flops_per_device", "FLOP on each device", flops, countText(flops)},
          {"peak_bytes_per_device", "memory of each device", memory, bytesText(memory), true}};
}

/// The bytes and the time of `count` collectives that are alike.
std::string sideText(const CollectiveReport &collective, double count) {
  return bytesText(count * collective.wireBytesPerDevice) +
         (collective.tripCount == 1 ? "" : " " + std::to_string(collective.tripCount) + " times") +
         (collective.whileLoops.empty() ? "" : " in each iteration of a 'while'") + ", " +
         timeText(count * collective.totalSeconds());
}

/// The line, or two, of `count` matches that are alike; empty for collectives that are the same in both programs.
std::string matchText(const Match &match, size_t count) {
  if (isSame(match))
    return "";
  std::string times = count == 1 ? "" : std::to_string(count) + " times ";
  auto factor = static_cast<double>(count);
  const CollectiveReport &first = match.a ? *match.a : *match.b;
  std::string text = times + collectiveTitle(first) + " at " + first.location + ": " + sideText(first, factor) + "\n";
  if (!match.a || !match.b)
    return (match.a ? "- " : "+ ") + text;
  bool isRenamed = match.a->axes != match.b->axes;
  return "~ " + text + "  now " + (isRenamed ? collectiveTitle(*match.b) + " " : "") + "at " + match.b->location +
         ": " + sideText(*match.b, factor) + "\n";
}

/// The lines of the collectives that are not the same, in order. Three or more that are alike, as the layers of an
/// exported program have them, are one.
std::string matchTexts(const std::vector<Match> &matches, bool joinsLayers) {
  constexpr size_t kFewest = 3;
  std::map<std::string, size_t> counts;
  for (const Match &match : matches)
    ++counts[matchText(match, 1)];
  std::string text;
  std::set<std::string> said;
  for (const Match &match : matches) {
    std::string one = matchText(match, 1);
    size_t count = counts[one];
    if (!joinsLayers || count < kFewest)
      text += one;
    else if (said.insert(one).second)
      text += matchText(match, count);
  }
  return text;
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

} // namespace

std::string comparisonText(const ComparedProgram &a, const ComparedProgram &b) {
  std::string text;
  for (const ComparedProgram *program : {&a, &b})
    text += std::string(program == &a ? "A" : "B") + ": " + program->source.getName() + ", " +
            meshTitle(program->inspection.report.mesh) + "\n";
  std::vector<Total> left = totalsOf(a.inspection), right = totalsOf(b.inspection);
  text += "\n" + padded("", 30) + padded("A", 14) + "B\n";
  for (size_t i = 0; i < left.size(); ++i) {
    auto [ofA, ofB] = left[i].isBytes ? spmd::comparedBytesTexts(left[i].value, right[i].value)
                                      : std::pair(left[i].text, right[i].text);
    text += padded("  " + std::string(left[i].title), 30) + padded(ofA + " ", 14) + ofB + "\n";
  }
  text += "\n";
  std::vector<Match> matches = match(a, b);
  bool joinsLayers = languageOf(a.source.getName(), a.source.getText()) == Language::Jax;
  text += matchTexts(matches, joinsLayers);
  return text + "= " + std::to_string(llvm::count_if(matches, isSame)) + " unchanged\n";
}

std::string comparisonJson(const ComparedProgram &a, const ComparedProgram &b) {
  Json json;
  json["spmdc"] = SPMDC_VERSION;
  for (const ComparedProgram *program : {&a, &b}) {
    Json &side = json[program == &a ? "a" : "b"];
    side["file"] = program->source.getName();
    side["mesh"] = meshJson(program->inspection.report.mesh);
    for (const Total &total : totalsOf(program->inspection))
      side[total.key] = number(total.value);
  }
  for (const char *list : {"removed", "added", "changed"})
    json[list] = Json::array();
  size_t same = 0;
  for (const Match &match : match(a, b)) {
    if (isSame(match))
      ++same;
    else if (match.a && match.b)
      json["changed"].push_back({{"a", collectiveJson(*match.a)}, {"b", collectiveJson(*match.b)}});
    else if (match.a)
      json["removed"].push_back(collectiveJson(*match.a));
    else
      json["added"].push_back(collectiveJson(*match.b));
  }
  json["same"] = same;
  return json.dump(1) + "\n";
}

} // namespace spmdc
