//===- LocationTexts.cpp - source positions in an exported text -----------===//

#include "frontend/stablehlo/LocationTexts.h"

#include <algorithm>

namespace spmdc::stablehlo {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-";
constexpr std::string_view kDigits = "0123456789";
/// More locations around one another are an alias that names itself.
constexpr int kDeepest = 256;

/// Takes a word off the front of a text, if it begins with that.
bool take(std::string_view &text, std::string_view word) {
  if (!text.starts_with(word))
    return false;
  text.remove_prefix(word.size());
  return true;
}

std::string_view takeDigits(std::string_view &text) {
  std::string_view digits = text.substr(0, text.find_first_not_of(kDigits));
  text.remove_prefix(digits.size());
  return digits;
}

/// The name of an alias at the front of a text, `#loc7`; empty if there is none.
std::string_view aliasAt(std::string_view text) {
  return text.starts_with('#') ? text.substr(0, text.find_first_not_of(kLetters, 1)) : std::string_view();
}

} // namespace

LocationTexts::LocationTexts(std::string_view text) : text(text) {
  for (size_t at = 0; at != std::string_view::npos; at = text.find("\n#", at + 1)) {
    std::string_view rest = text.substr(at);
    take(rest, "\n");
    std::string_view name = aliasAt(rest);
    rest.remove_prefix(name.size());
    if (!name.empty() && take(rest, " = loc("))
      aliases.emplace(name, rest.substr(0, rest.find('\n')));
  }
}

std::string LocationTexts::placeAt(size_t offset) const {
  std::string_view line = text.substr(std::min(offset, text.size()));
  line = line.substr(0, line.find('\n'));
  size_t found = line.rfind(" loc(");
  return found == std::string_view::npos ? "" : placeOf(line.substr(found + 5), 0);
}

/// The innermost position of a location, at the front of the text: an alias, "file":1:2, "name"(location),
/// callsite(callee at caller), or fused[location, ...].
std::string LocationTexts::placeOf(std::string_view location, int depth) const {
  if (depth > kDeepest)
    return "";
  if (std::string_view name = aliasAt(location); !name.empty()) {
    auto named = aliases.find(name);
    return named == aliases.end() ? "" : placeOf(named->second, depth + 1);
  }
  if (take(location, "callsite("))
    return placeOf(location, depth + 1);
  if (take(location, "fused")) {
    size_t list = location.find('[');
    return list == std::string_view::npos ? "" : placeOf(location.substr(list + 1), depth + 1);
  }
  if (!take(location, "\""))
    return "";
  std::string_view name = location.substr(0, location.find('"'));
  location.remove_prefix(std::min(name.size() + 1, location.size()));
  if (take(location, "("))
    return placeOf(location, depth + 1);
  std::string_view line, column;
  if (!take(location, ":") || (line = takeDigits(location)).empty() || !take(location, ":") ||
      (column = takeDigits(location)).empty())
    return "";
  return std::string(name) + ":" + std::string(line) + ":" + std::string(column);
}

} // namespace spmdc::stablehlo
