#include "runtime/support/TerminalText.h"

#include <cstdint>
#include <cstdio>

namespace spmd {
namespace {

struct Character {
  uint32_t code = 0;
  size_t size = 0; ///< 0: not UTF-8.
};

/// Decodes the first character by RFC 3629: shortest form, no surrogates, up to U+10FFFF.
Character decodeFirst(std::string_view text) {
  auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80)
    return {first, 1};
  size_t size = first >= 0xF0 && first < 0xF5   ? 4
                : first >= 0xE0 && first < 0xF0 ? 3
                : first >= 0xC2 && first < 0xE0 ? 2
                                                : 0;
  if (size == 0 || text.size() < size)
    return {};
  uint32_t code = first & (0x7F >> size);
  for (size_t i = 1; i != size; ++i) {
    auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80)
      return {};
    code = code << 6 | (next & 0x3F);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
    return {};
  return {code, size};
}

bool isHarmless(uint32_t code) {
  if (code < 0x20 || code == 0x7F)
    return code == '\n' || code == '\t';
  // C1 controls, which are escape sequences of one character; line separators; direction marks, which change the order
  // of the displayed text (CVE-2021-42574).
  return !((code >= 0x80 && code < 0xA0) || code == 0x61C || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069));
}

} // namespace

std::string escapeControls(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    Character character = decodeFirst(text);
    size_t size = character.size == 0 ? 1 : character.size;
    if (character.size != 0 && isHarmless(character.code)) {
      result += text.substr(0, size);
    } else {
      char escaped[16];
      bool isByte = character.size <= 1;
      unsigned value = character.size == 0 ? static_cast<unsigned char>(text[0]) : character.code;
      std::snprintf(escaped, sizeof escaped, isByte ? "\\x%02x" : "\\u{%x}", value);
      result += escaped;
    }
    text.remove_prefix(size);
  }
  return result;
}

} // namespace spmd
