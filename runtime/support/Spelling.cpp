//===- Spelling.cpp - the name that was probably meant --------------------===//

#include "runtime/support/Spelling.h"

#include <algorithm>
#include <utility>

namespace spmd {

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

std::string_view nearestSpelling(std::string_view name, const std::vector<std::string_view> &candidates) {
  if (name.size() < 2)
    return {};
  size_t limit = std::clamp<size_t>(name.size() / 3, 1, 3);
  size_t least = limit + 1;
  std::string_view best;
  for (std::string_view candidate : candidates) {
    // The distance is at least the difference of the lengths.
    if (candidate.size() > name.size() + limit || name.size() > candidate.size() + limit)
      continue;
    size_t distance = editDistance(name, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

} // namespace spmd
