//===- DocumentText.cpp - a text as editors address it --------------------===//

#include "tools/spmd-lsp-server/DocumentText.h"

#include <algorithm>

namespace spmdc {

DocumentText::DocumentText(std::string whole) : text(std::move(whole)) {
  lineStarts.push_back(0);
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')))
      lineStarts.push_back(static_cast<uint32_t>(i + 1));
}

/// The number of bytes of the first character of a text. An invalid byte counts as one character.
static uint32_t bytesOfCharacter(std::string_view rest) {
  return static_cast<uint32_t>(std::max<size_t>(1, utf8Length(rest)));
}

/// A character of four bytes in UTF-8 has two code units in UTF-16.
static uint32_t unitsOfCharacter(uint32_t bytes) { return bytes == 4 ? 2 : 1; }

uint32_t DocumentText::offsetAt(mlir::lsp::Position position) const {
  if (position.line < 0)
    return 0;
  if (static_cast<size_t>(position.line) >= lineStarts.size())
    return static_cast<uint32_t>(text.size());
  uint32_t offset = lineStarts[position.line];
  int64_t left = position.character;
  while (offset < text.size() && text[offset] != '\n' && text[offset] != '\r') {
    uint32_t bytes = bytesOfCharacter(std::string_view(text).substr(offset));
    if (left < unitsOfCharacter(bytes))
      break;
    left -= unitsOfCharacter(bytes);
    offset += bytes;
  }
  return offset;
}

mlir::lsp::Position DocumentText::positionAt(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, text.size());
  auto after = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  uint32_t units = 0;
  for (uint32_t at = *(after - 1); at < offset;) {
    uint32_t bytes = bytesOfCharacter(std::string_view(text).substr(at));
    units += unitsOfCharacter(bytes);
    at += bytes;
  }
  return {static_cast<int>(after - lineStarts.begin() - 1), static_cast<int>(units)};
}

std::string DocumentText::changed(const mlir::lsp::TextDocumentContentChangeEvent &change) const {
  if (!change.range)
    return change.text;
  uint32_t begin = offsetAt(change.range->start), end = std::max(begin, offsetAt(change.range->end));
  return text.substr(0, begin) + change.text + text.substr(end);
}

} // namespace spmdc
