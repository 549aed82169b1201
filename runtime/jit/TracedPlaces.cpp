//===- TracedPlaces.cpp - C++ places of a traced program's lines ----------===//

#include "runtime/jit/TracedPlaces.h"

#include "runtime/jit/LanguageText.h"

#include <algorithm>

namespace spmd {
namespace {

/// Parses a number at `at` and moves `at` after it; 0 if there is none.
int64_t takeNumber(const std::string &text, size_t &at) {
  constexpr int64_t kLimit = 1'000'000'000;
  int64_t number = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    number = std::min(kLimit, 10 * number + (text[at] - '0'));
  return number;
}

} // namespace

std::string TracedPlaces::inText(const std::string &text) const {
  if (places.empty())
    return text;
  std::string result, start = fileName + ":";
  size_t done = 0;
  for (size_t found = 0; (found = text.find(start, found)) != std::string::npos;) {
    size_t end = found + start.size();
    const std::source_location *place = placeOf(takeNumber(text, end));
    if (!place || end == text.size() || text[end] != ':' || takeNumber(text, ++end) == 0) {
      found += start.size();
      continue;
    }
    result += text.substr(done, found - done) + placeText(*place);
    done = found = end;
  }
  return result + text.substr(done);
}

void TracedPlaces::inSteps(std::vector<Step> &steps) const {
  for (Step &step : steps) {
    const std::source_location *place = step.location.file == fileName ? placeOf(step.location.line) : nullptr;
    if (place)
      step.location = {place->file_name(), static_cast<int32_t>(place->line()), static_cast<int32_t>(place->column())};
    if (auto *branch = std::get_if<IfStep>(&step.op)) {
      inSteps(branch->thenSteps);
      inSteps(branch->elseSteps);
    } else if (auto *loop = std::get_if<WhileStep>(&step.op)) {
      inSteps(loop->condition);
      inSteps(loop->body);
    } else if (auto *counted = std::get_if<ForStep>(&step.op)) {
      inSteps(counted->body);
    }
  }
}

void TracedPlaces::inArtifact(Artifact &artifact) const {
  inSteps(artifact.plan.steps);
  for (auto &[place, line] : artifact.sourceLines)
    place = inText(place);
}

} // namespace spmd
