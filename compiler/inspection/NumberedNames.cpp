//===- NumberedNames.cpp - names that differ in a number ------------------===//

#include "compiler/inspection/NumberedNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace spmdc {
namespace {

/// A name as its numbers and the text around them: texts.size() == numbers.size() + 1. A number of several names is
/// already written as they are joined.
struct NumberedName {
  std::vector<std::string> texts = {""}, numbers;

  /// Numbers of more digits (hashes) are part of the text.
  static constexpr size_t kMostDigits = 9;

  explicit NumberedName(const std::string &name) {
    for (size_t at = 0; at < name.size();) {
      size_t end = at;
      while (end < name.size() && llvm::isDigit(name[end]))
        ++end;
      if (end == at || end - at > kMostDigits) {
        end = std::max(end, at + 1);
        texts.back() += name.substr(at, end - at);
      } else {
        numbers.push_back(name.substr(at, end - at));
        texts.emplace_back();
      }
      at = end;
    }
  }

  std::string str() const {
    std::string result = texts[0];
    for (size_t i = 0; i < numbers.size(); ++i)
      result += numbers[i] + texts[i + 1];
    return result;
  }
};

/// `{0..2,5}`.
std::string rangesOf(const std::set<std::pair<uint64_t, std::string>> &numbers) {
  std::string text;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first, next = std::next(first);
    while (next != numbers.end() && next->first == last->first + 1)
      last = next++;
    bool isRange = last->first - first->first >= 2;
    text += (text.empty() ? "{" : ",") + first->second + (isRange ? ".." + last->second : "");
    first = isRange ? next : std::next(first);
  }
  return text + "}";
}

} // namespace

std::string withoutNumbers(const std::string &name) {
  NumberedName numbered(name);
  for (std::string &number : numbered.numbers)
    number = "#";
  return numbered.str();
}

std::vector<JoinedName> joinNumbered(const std::vector<std::pair<std::string, std::string>> &names, size_t fewest) {
  struct Line {
    NumberedName name;
    size_t first;
  };
  std::vector<Line> lines;
  size_t slots = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    lines.push_back({NumberedName(names[i].first), i});
    slots = std::max(slots, lines.back().name.numbers.size());
  }
  for (size_t slot = 0; slot < slots; ++slot) {
    // By all but the number of this slot, and by the digits of numbers with leading zeros: {00..11} has two for each,
    // and {0..11} no leading zeros.
    using Key = std::tuple<std::vector<std::string>, std::vector<std::string>, std::string, size_t>;
    std::map<Key, std::set<std::pair<uint64_t, std::string>>> numbers;
    std::vector<std::optional<Key>> keys;
    std::set<Key> padded;
    for (const auto &[name, first] : lines) {
      std::optional<Key> &key = keys.emplace_back();
      if (slot >= name.numbers.size() || !llvm::all_of(name.numbers[slot], llvm::isDigit))
        continue;
      const std::string &number = name.numbers[slot];
      key.emplace(name.texts, name.numbers, names[first].second, number.size());
      std::get<1>(*key)[slot].clear();
      if (number.size() > 1 && number.front() == '0')
        padded.insert(*key);
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      std::optional<Key> &key = keys[i];
      if (!key)
        continue;
      if (!padded.count(*key))
        std::get<3>(*key) = 0;
      const std::string &number = lines[i].name.numbers[slot];
      numbers[*key].emplace(std::stoull(number), number); // Few digits.
    }
    std::vector<Line> joined;
    std::set<Key> said;
    for (size_t i = 0; i < lines.size(); ++i) {
      bool isJoined = keys[i] && numbers[*keys[i]].size() >= fewest;
      if (isJoined && !said.insert(*keys[i]).second)
        continue;
      joined.push_back(std::move(lines[i]));
      if (isJoined)
        joined.back().name.numbers[slot] = rangesOf(numbers[*keys[i]]);
    }
    lines = std::move(joined);
  }
  std::vector<JoinedName> result;
  for (const auto &[name, first] : lines)
    result.push_back({name.str(), first});
  return result;
}

} // namespace spmdc
