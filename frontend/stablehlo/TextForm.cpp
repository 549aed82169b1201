//===- TextForm.cpp - exported text that MLIR 19 can read -----------------===//

#include "frontend/stablehlo/TextForm.h"

#include "llvm/ADT/SmallVector.h"
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

/// `= [1, 2]` behind the name of a list in `#stablehlo.dot<...>`, as the numbers `1, 2`; empty if there is none.
StringRef listIn(StringRef entries, StringRef name) {
  size_t at = entries.find(name);
  if (at == StringRef::npos)
    return "";
  StringRef list = entries.drop_front(at + name.size());
  return list.consume_front(" = [") ? list.take_front(list.find(']')) : "";
}

/// The entries of a product with `dot_dimension_numbers = #stablehlo.dot<...>` as attributes of StablehloOps.td. The
/// precision has no effect.
std::string dotAttributes(StringRef entries) {
  std::string result;
  for (StringRef name : {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
                         "rhs_contracting_dimensions"}) {
    StringRef numbers = listIn(entries, name);
    result +=
        (result.empty() ? "" : ", ") + (name + " = array<i64" + (numbers.empty() ? "" : ": ") + numbers + ">").str();
  }
  return result;
}

/// `padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>` as `padding = array<i64: 1, 1, 0, 0>`; of `count` numbers if
/// it is one number or absent.
std::string paddingAttribute(StringRef entries, size_t count) {
  StringRef dense = entries.split("padding = dense<").second;
  dense = dense.take_front(dense.find('>'));
  llvm::SmallVector<StringRef> numbers;
  llvm::SplitString(dense, numbers, "[], ");
  if (numbers.size() <= 1)
    numbers.assign(count, numbers.empty() ? "0" : numbers.front());
  return "padding = array<i64: " + llvm::join(numbers, ", ") + ">";
}

/// The entries of a convolution with `dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>` as
/// attributes of StablehloOps.td. The generic form leaves out those that have their default.
std::string convolutionAttributes(StringRef entries) {
  std::string layouts[3];
  size_t number = 0;
  StringRef text = entries.split("#stablehlo.conv<").second;
  for (char letter : text.take_front(text.find("]>"))) {
    number += letter == ']' && number < 2;
    if (llvm::isAlnum(letter) && letter != 'x')
      layouts[number] += letter;
  }
  size_t positions = layouts[0].size() > 2 ? layouts[0].size() - 2 : 0;
  std::string result = "lhs_layout = \"" + layouts[0] + "\", rhs_layout = \"" + layouts[1] + "\", result_layout = \"" +
                       layouts[2] + "\", " + paddingAttribute(entries, 2 * positions);
  auto add = [&](StringRef name, StringRef type, StringRef otherwise) {
    auto [before, behind] = entries.split((name + " = array<" + type).str());
    std::string values = llvm::join(llvm::SmallVector<StringRef>(positions, otherwise), ", ");
    StringRef written = behind.take_front(behind.find('>'));
    if (written.consume_front(": ") || !behind.empty())
      values = written.str();
    result += (", " + name + " = array<" + type + (values.empty() ? "" : ": ") + values + ">").str();
  };
  for (StringRef name : {"window_strides", "lhs_dilation", "rhs_dilation"})
    add(name, "i64", "1");
  add("window_reversal", "i1", "false");
  for (StringRef name : {"batch_group_count", "feature_group_count"})
    if (StringRef count = entries.split((name + " = ").str()).second; !count.empty())
      result += (", " + name + " = " + count.take_while(llvm::isDigit) + " : i64").str();
  return result;
}

/// The operands and attributes behind the name of an operation in generic form, `(%0, %1) <{name = value, ...}>`, with
/// the attributes of StablehloOps.td; empty for other operations. `text` then begins behind them.
std::string takeAttributes(StringRef name, StringRef &text) {
  bool isDot = name == "\"stablehlo.dot_general\"";
  if (!isDot && name != "\"stablehlo.convolution\"")
    return "";
  StringRef line = text.take_front(text.find('\n'));
  auto [operands, rest] = line.split("<{");
  auto [entries, behind] = rest.split("}>");
  if (!entries.contains(isDot ? "#stablehlo.dot<" : "#stablehlo.conv<"))
    return "";
  text = text.drop_front(line.size() - behind.size());
  return (operands + "<{" + (isDot ? dotAttributes(entries) : convolutionAttributes(entries)) + "}>").str();
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
    else if (std::string attributes = takeAttributes(literal, text); !attributes.empty())
      changed = literal.str() + attributes;
    else if (literal.starts_with("\"0x") && literal.size() > 3)
      if (size_t count = countBools(text))
        changed = packBools(literal, count);
    result += changed.empty() ? literal.str() : changed;
  }
  return result;
}

} // namespace spmdc::stablehlo
