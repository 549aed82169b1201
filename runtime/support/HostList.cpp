#include "runtime/support/HostList.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

namespace spmd {
namespace {

/// `007-009`: numbers keep the width of the first one.
struct Range {
  uint64_t first = 0, last = 0;
  size_t width = 0;
};

std::optional<std::pair<uint64_t, size_t>> takeNumber(std::string_view &rest) {
  uint64_t number = 0;
  auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  auto digits = static_cast<size_t>(end - rest.data());
  if (code != std::errc() || digits == 0 || digits > 18)
    return std::nullopt;
  rest.remove_prefix(digits);
  return std::pair(number, digits);
}

/// Parses the text between brackets: `007-009,12`.
std::optional<std::vector<Range>> parseRanges(std::string_view rest) {
  std::vector<Range> ranges;
  for (;;) {
    auto first = takeNumber(rest);
    if (!first)
      return std::nullopt;
    Range range{first->first, first->first, first->second};
    if (!rest.empty() && rest.front() == '-') {
      rest.remove_prefix(1);
      auto last = takeNumber(rest);
      if (!last || last->first < range.first)
        return std::nullopt;
      range.last = last->first;
    }
    ranges.push_back(range);
    if (rest.empty())
      return ranges;
    if (rest.front() != ',')
      return std::nullopt;
    rest.remove_prefix(1);
  }
}

/// Appends each number of the ranges to each host; returns false if that makes too many hosts.
bool appendNumbers(std::vector<std::string> &hosts, const std::vector<Range> &ranges, size_t limit) {
  uint64_t count = 0;
  for (const Range &range : ranges) {
    if (range.last - range.first >= limit)
      return false;
    count += range.last - range.first + 1;
  }
  if (count * hosts.size() > limit)
    return false;
  std::vector<std::string> result;
  for (const std::string &host : hosts)
    for (const Range &range : ranges)
      for (uint64_t number = range.first; number <= range.last; ++number) {
        std::string digits = std::to_string(number);
        result.push_back(host + std::string(range.width - std::min(range.width, digits.size()), '0') + digits);
      }
  hosts = std::move(result);
  return true;
}

/// Expands one entry of a list, from `at` to the comma after it.
std::optional<std::vector<std::string>> expandEntry(std::string_view list, size_t &at, size_t limit) {
  std::vector<std::string> hosts{""};
  while (at < list.size() && list[at] != ',') {
    char c = list[at++];
    if (c == '[') {
      size_t close = list.find(']', at);
      if (close == std::string_view::npos)
        return std::nullopt;
      auto ranges = parseRanges(list.substr(at, close - at));
      if (!ranges || !appendNumbers(hosts, *ranges, limit))
        return std::nullopt;
      at = close + 1;
      continue;
    }
    bool isOfName = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                    c == '.' || c == '_' || c == ':';
    if (!isOfName)
      return std::nullopt;
    for (std::string &host : hosts)
      host += c;
  }
  if (hosts.front().empty() || hosts.front().size() > 255)
    return std::nullopt;
  return hosts;
}

} // namespace

std::optional<std::vector<std::string>> expandHostList(const std::string &list, size_t limit) {
  std::vector<std::string> all;
  if (list.size() > 16 * limit)
    return std::nullopt;
  for (size_t at = 0;; ++at) {
    auto hosts = expandEntry(list, at, limit - std::min(limit, all.size()));
    if (!hosts || all.size() + hosts->size() > limit)
      return std::nullopt;
    all.insert(all.end(), hosts->begin(), hosts->end());
    if (at == list.size())
      return all;
  }
}

} // namespace spmd
