//===- Source.h - a text and its lines --------------------------*- C++ -*-===//
//
// A text with a name, and the conversion between byte offsets and lines and columns, which count from 1, columns in
// characters (UTF-8 code points). Independent of the language.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spmdc {

/// A line and a column, both from 1; the column counts characters.
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;
  bool operator==(const LineColumn &) const = default;
};

class Source {
public:
  /// Texts are addressed with 32-bit offsets; the code that reads the file refuses a longer one (`maxBytes`).
  static constexpr size_t maxBytes = size_t(64) << 20;

  Source(std::string name, std::string text);

  const std::string &getName() const { return name; }
  std::string_view getText() const { return text; }

  /// Takes a binary search over lines plus constant time, even in lines of many megabytes.
  LineColumn position(uint32_t offset) const;
  /// The line that holds the offset, without its end.
  std::string_view lineAt(uint32_t offset) const;
  /// The line that a location (`file:line:column`) in this source names, without its indentation; empty for another
  /// source.
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
  /// From the beginning of this range to the end of the other, which is in the same source and does not begin before
  /// it.
  Range to(const Range &last) const { return {source, begin, last.end}; }
};

/// The line that a location (`file:line:column`) in this file names; 0 for a location elsewhere.
size_t lineNumberIn(std::string_view file, std::string_view location);

/// Length in bytes of the UTF-8 character at the beginning of a text, or 0 if it is not valid.
size_t utf8Length(std::string_view text);

} // namespace spmdc
