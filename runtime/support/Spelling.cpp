//===- Spelling.cpp - the nearest name ------------------------------------===//

#include "runtime/support/Spelling.h"

#include <algorithm>
#include <string>
#include <utility>

namespace spmd {

namespace {

/// Lower case without underscores: `LayerNorm` and `layer_norm` count as the same name.
std::string letters(std::string_view name) {
  std::string result;
  for (char c : name)
    if (c != '_')
      result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

/// Returns how many edits may separate a misspelt name from the intended one. Short words differ by few letters and
/// mean different things (std and sgd, scan and tan, norm and normal): in those only one additional, one missing or two
/// swapped letters count as a slip. Longer words with the same beginning may have more edits: nansum is not einsum.
size_t editLimit(std::string_view a, std::string_view b) {
  size_t length = std::min(a.size(), b.size());
  bool isSameStart = a.front() == b.front();
  return length < 6 || !isSameStart ? 1 : length < 10 ? 2 : 3;
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// For names of equal length: whether they differ by replaced letters.
bool isReplacement(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  size_t differences = 0;
  for (size_t i = 0; i < a.size(); ++i)
    differences += a[i] != b[i] && !(isDigit(a[i]) && isDigit(b[i]));
  return differences == 1;
}

/// In names of at most three letters, a replaced letter makes another name.
constexpr size_t shortLength = 3;

bool isNear(std::string_view name, std::string_view candidate, size_t distance) {
  if (distance > editLimit(name, candidate))
    return false;
  return name.size() > shortLength || candidate.size() > shortLength || !isReplacement(name, candidate);
}

} // namespace

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
  // All names of one letter are near to one another, so no name is nearest.
  if (name.size() < 2)
    return {};
  std::string plain = letters(name);
  std::string_view best;
  size_t bestDistance = 0;
  for (std::string_view candidate : candidates) {
    constexpr size_t mostEdits = 3;
    if (candidate.empty() || candidate.size() > name.size() + mostEdits || name.size() > candidate.size() + mostEdits)
      continue;
    size_t distance = !plain.empty() && plain == letters(candidate) ? 0 : editDistance(name, candidate);
    if ((distance != 0 && !isNear(name, candidate, distance)) || (!best.empty() && distance >= bestDistance))
      continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/// The name without the punctuation of paths.
static std::string lettersOf(std::string_view name) {
  std::string letters;
  for (char letter : name)
    if (std::string_view(".[]'\"").find(letter) == std::string_view::npos)
      letters += letter;
  return letters;
}

std::string didYouMean(std::string_view name, const std::vector<std::string> &candidates) {
  std::string letters = lettersOf(name);
  auto same = std::find_if(candidates.begin(), candidates.end(),
                           [&](const std::string &candidate) { return lettersOf(candidate) == letters; });
  std::string_view nearest = same != candidates.end() ? std::string_view(*same)
                                                      : nearestSpelling(name, {candidates.begin(), candidates.end()});
  return nearest.empty() ? "" : "; did you mean '" + std::string(nearest) + "'?";
}

} // namespace spmd
