//===- Comparison.cpp - the report of `explain --diff` --------------------===//

#include "compiler/explain/Comparison.h"

#include "compiler/inspection/JsonParts.h"
#include "runtime/support/ByteText.h"

#include <algorithm>

namespace spmdc {
namespace {

struct Entry {
  const CollectiveReport *collective;
  std::string line;
  bool isMatched = false;
};

std::vector<Entry> entriesOf(const ComparedProgram &program) {
  std::vector<Entry> entries;
  for (const FunctionReport &function : program.inspection.report.functions)
    for (const CollectiveReport &collective : function.collectives)
      entries.push_back({&collective, std::string(program.source.lineOf(collective.location))});
  return entries;
}

struct Match {
  const CollectiveReport *a, *b; ///< One of them is null if only the other program has the collective.
};

std::vector<Match> match(const ComparedProgram &a, const ComparedProgram &b) {
  std::vector<Entry> left = entriesOf(a), right = entriesOf(b);
  std::vector<const CollectiveReport *> partners(left.size(), nullptr);
  for (bool withAxes : {true, false})
    for (size_t i = 0; i < left.size(); ++i) {
      if (partners[i])
        continue;
      const CollectiveReport &own = *left[i].collective;
      auto partner = std::find_if(right.begin(), right.end(), [&](const Entry &entry) {
        const CollectiveReport &other = *entry.collective;
        return !entry.isMatched && other.op == own.op && other.reduction == own.reduction &&
               entry.line == left[i].line && (!withAxes || other.axes == own.axes);
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

std::string sideText(const CollectiveReport &collective) {
  return bytesText(collective.wireBytesPerDevice) +
         (collective.tripCount == 1 ? "" : " " + std::to_string(collective.tripCount) + " times") +
         (collective.whileLoops.empty() ? "" : " in each iteration of a 'while'") + ", " +
         timeText(collective.totalSeconds());
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
  size_t same = 0;
  for (const Match &match : match(a, b)) {
    if (isSame(match)) {
      ++same;
    } else if (match.a && match.b) {
      bool isRenamed = match.a->axes != match.b->axes;
      text += "~ " + collectiveTitle(*match.a) + " at " + match.a->location + ": " + sideText(*match.a) + "\n  now " +
              (isRenamed ? collectiveTitle(*match.b) + " " : "") + "at " + match.b->location + ": " +
              sideText(*match.b) + "\n";
    } else {
      const CollectiveReport &only = match.a ? *match.a : *match.b;
      text += std::string(match.a ? "- " : "+ ") + collectiveTitle(only) + " at " + only.location + ": " +
              sideText(only) + "\n";
    }
  }
  return text + "= " + std::to_string(same) + " unchanged\n";
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
