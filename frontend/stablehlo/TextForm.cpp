//===- TextForm.cpp - exported text that MLIR 19 can read -----------------===//

#include "frontend/stablehlo/TextForm.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using llvm::StringRef;

namespace spmdc::stablehlo {

namespace {

/// Takes `:number` from the front.
bool takeNumber(StringRef &text, unsigned &number) {
  StringRef rest = text;
  if (!rest.consume_front(":") || rest.consumeInteger(10, number))
    return false;
  text = rest;
  return true;
}

/// A range behind the name of its file, `:3:4 to :9` or `:3:4 to 5:9`, as text for MLIR 19; empty if it is no range.
/// `text` then begins behind it.
std::string takeRange(StringRef file, StringRef &text) {
  StringRef rest = text;
  unsigned line = 0, column = 0, endLine = 0, endColumn = 0;
  if (!takeNumber(rest, line) || !takeNumber(rest, column) || !rest.consume_front(" to "))
    return "";
  endLine = line;
  if (!rest.starts_with(":") && rest.consumeInteger(10, endLine))
    return "";
  if (!takeNumber(rest, endColumn))
    return "";
  text = rest;
  // Python counts columns from 0 and ends behind the last character; a range here counts from 1 and ends with it.
  unsigned last = endLine == line ? std::max(column + 1, endColumn) : std::max(1u, endColumn);
  auto place = [&](unsigned l, unsigned c) { return (file + ":" + llvm::Twine(l) + ":" + llvm::Twine(c)).str(); };
  return "fused<\"range\">[" + place(line, column + 1) + ", " + place(endLine, last) + "]";
}

/// The number of elements of `> : tensor<2x3xi1>`, which follows a constant; 0 if the type is another one.
size_t countBools(StringRef text) {
  if (!text.consume_front("> : tensor<"))
    return 0;
  size_t count = 1;
  while (!text.starts_with("i1>")) {
    size_t size = 0;
    if (text.consumeInteger(10, size) || !text.consume_front("x") || size == 0 || count > (size_t(1) << 40) / size)
      return 0;
    count *= size;
  }
  return count;
}

/// `"0x0001..."` of a byte for each bool as one of a bit for each, lowest bit first; empty if it has another length.
std::string packBools(StringRef quoted, size_t count) {
  StringRef digits = quoted.drop_front().drop_back().drop_front(2);
  if (count < 2 || digits.size() != 2 * count)
    return "";
  std::string bytes((count + 7) / 8, '\0');
  for (size_t i = 0; i < count; ++i)
    if (digits.substr(2 * i, 2) != "00")
      bytes[i / 8] |= static_cast<char>(1 << (i % 8));
  return "\"0x" + llvm::toHex(bytes) + "\"";
}

} // namespace

std::string toReadableText(StringRef text) {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    size_t quote = std::min(text.find('"'), text.size());
    result += text.take_front(quote);
    text = text.drop_front(quote);
    if (text.empty())
      break;
    size_t end = 1;
    while (end < text.size() && text[end] != '"' && text[end] != '\n')
      end += text[end] == '\\' ? 2 : 1;
    StringRef literal = text.take_front(std::min(end + 1, text.size()));
    text = text.drop_front(literal.size());
    std::string changed;
    if (text.starts_with(":"))
      changed = takeRange(literal, text);
    else if (literal.starts_with("\"0x") && literal.size() > 3)
      if (size_t count = countBools(text))
        changed = packBools(literal, count);
    result += changed.empty() ? literal.str() : changed;
  }
  return result;
}

} // namespace spmdc::stablehlo
