//===- Suggest.cpp - the name that was probably meant ---------------------===//

#include "frontend/Suggest.h"

#include <algorithm>

namespace spmdc {

namespace {

/// Insertions, deletions, replacements and swaps of neighbours count one each.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> beforePrevious, previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], beforePrevious[j - 2] + 1);
    }
    beforePrevious = previous;
    std::swap(previous, current);
  }
  return previous[b.size()];
}

} // namespace

std::string_view nearestName(std::string_view name, const std::vector<std::string_view> &candidates) {
  size_t limit = std::clamp<size_t>(name.size() / 3, 1, 3);
  std::string_view best;
  for (std::string_view candidate : candidates) {
    // Names of one letter are all near to one another: that says nothing.
    if (name.size() < 2 || candidate.size() > name.size() + limit || name.size() > candidate.size() + limit)
      continue;
    size_t distance = editDistance(name, candidate);
    if (distance > limit || (!best.empty() && distance >= editDistance(name, best)))
      continue;
    best = candidate;
  }
  return best;
}

std::string didYouMean(std::string_view name, const std::vector<std::string_view> &candidates) {
  std::string_view best = nearestName(name, candidates);
  return best.empty() ? "" : "; did you mean '" + std::string(best) + "'?";
}

} // namespace spmdc
