//===- Source.h - one text and the places in it -----------------*- C++ -*-===//
//
// A text with a name, and the arithmetic between byte offsets and what a person counts: lines and columns from 1,
// columns in characters (UTF-8 code points). Knows nothing of the language.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spmdc {

/// A place as a person counts it: both from 1, the column in characters.
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;
  bool operator==(const LineColumn &) const = default;
};

class Source {
public:
  /// Texts are addressed with 32-bit offsets; a longer one is refused by whoever reads the file (`maxBytes`).
  static constexpr size_t maxBytes = size_t(64) << 20;

  Source(std::string name, std::string text);

  const std::string &getName() const { return name; }
  std::string_view getText() const { return text; }

  /// Constant time but for a search over lines, also in lines of many megabytes.
  LineColumn position(uint32_t offset) const;
  /// The line that holds the offset, without its end.
  std::string_view lineAt(uint32_t offset) const;
  /// The line that a location (`file:line:column`) in this source names, without its indentation; else nothing.
  std::string_view lineOf(std::string_view location) const;

private:
  uint32_t charactersBefore(uint32_t offset) const;

  std::string name;
  std::string text;
  std::vector<uint32_t> lineStarts;
  std::vector<uint32_t> checkpoints; ///< Characters before every 4096th byte.
};

/// Bytes [begin, end) of a source; the source outlives the range (`Diagnostics` owns it).
struct Range {
  const Source *source = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const Range &) const = default;

  LineColumn start() const { return source->position(begin); }
  std::string_view text() const { return source->getText().substr(begin, end - begin); }
  /// `file:line:column`.
  std::string str() const;
  /// From the beginning of this range to the end of the other, which lies in the same source and not before it.
  Range to(const Range &last) const { return {source, begin, last.end}; }
};

/// The line that a location (`file:line:column`) in this file names; 0 for one that lies elsewhere.
size_t lineNumberIn(std::string_view file, std::string_view location);

/// Length in bytes of the UTF-8 character at the beginning of a text, or 0 where there is no valid one.
size_t utf8Length(std::string_view text);

} // namespace spmdc
