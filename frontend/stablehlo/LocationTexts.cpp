//===- LocationTexts.cpp - source positions in an exported text -----------===//

#include "frontend/stablehlo/LocationTexts.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

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

std::string takeQuoted(std::string_view &text) {
  std::string result;
  size_t at = 0;
  for (; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      result += text[at];
    } else if (uint8_t byte = 0; at + 2 < text.size() && llvm::tryGetHexFromNibbles(text[at + 1], text[at + 2], byte)) {
      result += static_cast<char>(byte);
      at += 2;
    } else {
      result += text[++at];
    }
  }
  text.remove_prefix(std::min(at + 1, text.size()));
  return result;
}

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

/// The location of the line at an offset; empty if it has none.
std::string_view LocationTexts::locationAt(size_t offset) const {
  std::string_view line = text.substr(std::min(offset, text.size()));
  line = line.substr(0, line.find('\n'));
  size_t found = line.rfind(" loc(");
  return found == std::string_view::npos ? std::string_view() : line.substr(found + 5);
}

/// The text that the alias at the front of a location names; any other location as it is.
std::string_view LocationTexts::definitionOf(std::string_view location) const {
  std::string_view name = aliasAt(location);
  if (name.empty())
    return location;
  auto named = aliases.find(name);
  return named == aliases.end() ? std::string_view() : named->second;
}

std::string LocationTexts::placeAt(size_t offset) const { return placeOf(locationAt(offset), 0); }

std::string LocationTexts::operationAt(size_t offset) const {
  std::string_view location = definitionOf(locationAt(offset));
  if (!take(location, "\""))
    return "";
  std::string name = takeQuoted(location);
  return location.starts_with("(") ? name.substr(name.rfind('/') + 1) : "";
}

/// The innermost position of a location, at the front of the text: an alias, "file":1:2, "name"(location),
/// callsite(callee at caller), or fused[location, ...].
std::string LocationTexts::placeOf(std::string_view location, int depth) const {
  if (depth > kDeepest)
    return "";
  if (location.starts_with('#'))
    return placeOf(definitionOf(location), depth + 1);
  if (take(location, "callsite("))
    return placeOf(location, depth + 1);
  if (take(location, "fused")) {
    size_t list = location.find('[');
    return list == std::string_view::npos ? "" : placeOf(location.substr(list + 1), depth + 1);
  }
  if (!take(location, "\""))
    return "";
  std::string name = takeQuoted(location);
  if (take(location, "("))
    return placeOf(location, depth + 1);
  std::string_view line, column;
  if (!take(location, ":") || (line = takeDigits(location)).empty() || !take(location, ":") ||
      (column = takeDigits(location)).empty())
    return "";
  // In a range, JAX's `11:16 to :57`, columns count from 0 (TextForm.h).
  unsigned number = 0;
  std::from_chars(column.data(), column.data() + column.size(), number);
  return name + ":" + std::string(line) + ":" + std::to_string(number + location.starts_with(" to "));
}

} // namespace spmdc::stablehlo
