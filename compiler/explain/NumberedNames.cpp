//===- NumberedNames.cpp - names that differ in a number ------------------===//

#include "compiler/explain/NumberedNames.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstdint>
#include <map>
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

std::vector<std::pair<std::string, std::string>>
joinNumbered(const std::vector<std::pair<std::string, std::string>> &names) {
  std::vector<std::pair<NumberedName, std::string>> lines;
  size_t slots = 0;
  for (const auto &[name, text] : names) {
    lines.emplace_back(name, text);
    slots = std::max(slots, lines.back().first.numbers.size());
  }
  for (size_t slot = 0; slot < slots; ++slot) {
    // By all but the number of this slot. A number such as 01 remains as it is, because its range would not have it.
    using Key = std::tuple<std::vector<std::string>, std::vector<std::string>, std::string>;
    std::map<Key, std::pair<size_t, std::set<std::pair<uint64_t, std::string>>>> joined;
    std::vector<std::pair<NumberedName, std::string>> rest;
    for (auto &[name, text] : lines) {
      uint64_t value = 0;
      if (slot >= name.numbers.size() || !llvm::to_integer(name.numbers[slot], value, 10) ||
          std::to_string(value) != name.numbers[slot]) {
        rest.emplace_back(name, text);
        continue;
      }
      Key key(name.texts, name.numbers, text);
      std::get<1>(key)[slot].clear();
      auto [place, isNew] =
          joined.try_emplace(std::move(key), rest.size(), std::set<std::pair<uint64_t, std::string>>());
      place->second.second.emplace(value, name.numbers[slot]);
      if (isNew)
        rest.emplace_back(name, text);
    }
    for (const auto &[key, found] : joined)
      if (found.second.size() > 1)
        rest[found.first].first.numbers[slot] = rangesOf(found.second);
    lines = std::move(rest);
  }
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto &[name, text] : lines)
    result.emplace_back(name.str(), text);
  return result;
}

} // namespace spmdc
