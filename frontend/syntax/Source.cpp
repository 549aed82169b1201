//===- Source.cpp - a text and its lines ----------------------------------===//

#include "frontend/syntax/Source.h"

#include <algorithm>
#include <charconv>

namespace spmdc {

namespace {

constexpr uint32_t checkpointBytes = 4096;

/// Every byte except a continuation byte begins a character; a stray byte counts as one, so that columns remain useful
/// in texts that are not UTF-8.
bool beginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

} // namespace

Source::Source(std::string name, std::string text) : name(std::move(name)), text(std::move(text)) {
  lineStarts.push_back(0);
  uint32_t characters = 0;
  for (uint32_t i = 0; i < this->text.size(); ++i) {
    if (i % checkpointBytes == 0)
      checkpoints.push_back(characters);
    characters += beginsCharacter(this->text[i]);
    if (this->text[i] == '\n')
      lineStarts.push_back(i + 1);
  }
  if (this->text.size() % checkpointBytes == 0)
    checkpoints.push_back(characters);
}

uint32_t Source::charactersBefore(uint32_t offset) const {
  uint32_t block = offset / checkpointBytes;
  uint32_t characters = checkpoints[block];
  for (uint32_t i = block * checkpointBytes; i < offset; ++i)
    characters += beginsCharacter(text[i]);
  return characters;
}

LineColumn Source::position(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, text.size());
  auto after = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  uint32_t line = after - lineStarts.begin();
  return {line, charactersBefore(offset) - charactersBefore(lineStarts[line - 1]) + 1};
}

std::string_view Source::lineAt(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, text.size());
  auto after = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  uint32_t begin = *(after - 1);
  uint32_t end = after == lineStarts.end() ? text.size() : *after - 1;
  if (end > begin && text[end - 1] == '\r')
    --end;
  return std::string_view(text).substr(begin, end - begin);
}

std::string_view Source::lineOf(std::string_view location) const {
  size_t line = lineNumberIn(name, location);
  if (line == 0 || line > lineStarts.size())
    return "";
  std::string_view found = lineAt(lineStarts[line - 1]);
  return found.substr(std::min(found.find_first_not_of(" \t"), found.size()));
}

size_t lineNumberIn(std::string_view file, std::string_view location) {
  if (!location.starts_with(file) || !location.substr(file.size()).starts_with(':'))
    return 0;
  location.remove_prefix(file.size() + 1);
  size_t line = 0;
  std::from_chars(location.data(), location.data() + location.size(), line);
  return line;
}

std::string Range::str() const {
  LineColumn place = start();
  return source->getName() + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

size_t utf8Length(std::string_view text) {
  if (text.empty())
    return 0;
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80)
    return 1;
  size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length)
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80)
      return 0;
  // Overlong forms, surrogates, and code points beyond U+10FFFF.
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) || (first == 0xF0 && byte(1) < 0x90) ||
      (first == 0xF4 && byte(1) > 0x8F))
    return 0;
  return length;
}

} // namespace spmdc
