//===- NarrowText.cpp - types that MLIR 19 has no name for ----------------===//

#include "frontend/stablehlo/narrow/NarrowText.h"

#include "runtime/support/ElementFormat.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <optional>

using llvm::StringRef;
using spmd::ElementFormat;
using spmd::NarrowFormat;

namespace spmdc::stablehlo {

namespace {

/// The types of NarrowTypes.cpp.
struct StandIn {
  ElementFormat format;
  StringRef type;
};
constexpr StandIn kStandIns[] = {
    {ElementFormat::F8E3M4, "si8"}, {ElementFormat::F4E2M1FN, "si4"}, {ElementFormat::F8E8M0FNU, "si9"}};

/// A mention of such a type as the element of a tensor.
struct Mention {
  size_t at;
  const NarrowFormat *format;
  StringRef type;
};

/// The first one. It reads no further, so that all of them are found in one pass over the text.
std::optional<Mention> findNext(StringRef text) {
  for (size_t at = text.find('f', 1); at != StringRef::npos; at = text.find('f', at + 1)) {
    if (text[at - 1] != 'x' && text[at - 1] != '<')
      continue;
    for (const StandIn &standIn : kStandIns) {
      const NarrowFormat *format = spmd::findNarrow(standIn.format);
      StringRef name = format->name(), rest = text.drop_front(at);
      if (rest.starts_with(name) && rest.drop_front(name.size()).starts_with(">"))
        return Mention{at, format, standIn.type};
    }
  }
  return std::nullopt;
}

/// The code of a number as MLIR writes it: in decimals, or its bits in hexadecimal.
std::string codeOf(StringRef number, const NarrowFormat &format) {
  uint64_t bits = 0;
  double value = 0;
  if (number.starts_with("0x") ? !number.getAsInteger(0, bits) : !number.getAsDouble(value)) {
    uint64_t code = number.starts_with("0x") ? bits : spmd::encodeNarrow(format, static_cast<float>(value));
    // A number of the signed type.
    auto range = uint64_t(1) << format.bits;
    bool isNegative = format.special != spmd::SpecialCodes::Exponent && code >= range / 2;
    return std::to_string(static_cast<int64_t>(code) - (isNegative ? static_cast<int64_t>(range) : 0));
  }
  return number.str(); // The parser names the place.
}

/// The elements between the angle brackets of a constant.
std::string codesOf(StringRef elements, const NarrowFormat &format) {
  std::string result;
  if (elements.starts_with("\"")) {
    if (format.special != spmd::SpecialCodes::Exponent || !elements.starts_with("\"0x"))
      return elements.str();
    // A byte each, of which the wider type has two.
    for (size_t i = 3; i + 2 < elements.size(); i += 2)
      result += elements.substr(i, 2).str() + "00";
    return "\"0x" + result + "\"";
  }
  while (!elements.empty()) {
    StringRef number =
        elements.take_while([](char letter) { return llvm::isAlnum(letter) || StringRef("+-.").contains(letter); });
    if (number.empty()) {
      result += elements.front();
      elements = elements.drop_front();
      continue;
    }
    result += codeOf(number, format);
    elements = elements.drop_front(number.size());
  }
  return result;
}

/// Replaces the elements of a constant whose type is at the end of `text`, `dense<...> : tensor<4x`.
void replaceElements(std::string &text, const NarrowFormat &format) {
  size_t type = text.rfind("tensor<");
  constexpr StringRef kBetween = "> : ";
  if (type == std::string::npos || type < kBetween.size() ||
      StringRef(text).substr(type - kBetween.size(), kBetween.size()) != kBetween)
    return;
  size_t end = type - kBetween.size(), begin = StringRef(text).take_front(end).rfind("dense<");
  if (begin == StringRef::npos)
    return;
  begin += StringRef("dense<").size();
  std::string codes = codesOf(StringRef(text).slice(begin, end), format);
  text.replace(begin, end - begin, codes);
}

} // namespace

std::string withReadableNarrowTypes(StringRef text) {
  std::string result;
  while (std::optional<Mention> mention = findNext(text)) {
    result += text.take_front(mention->at);
    text = text.drop_front(mention->at + mention->format->name().size());
    replaceElements(result, *mention->format);
    result += mention->type;
    result.append(mention->format->name().size() - mention->type.size(), ' ');
  }
  return result.empty() ? text.str() : result + text.str();
}

std::string withNarrowNames(StringRef text) {
  std::string result;
  while (!text.empty()) {
    size_t at = text.find("si");
    result += text.take_front(at);
    text = text.drop_front(std::min(at, text.size()));
    const StandIn *standIn = llvm::find_if(kStandIns, [&](const StandIn &each) {
      return text.starts_with((each.type + ">").str()) && !result.empty() && StringRef("x<").contains(result.back());
    });
    bool isType = standIn != std::end(kStandIns);
    result += isType ? StringRef(spmd::findNarrow(standIn->format)->name()) : text.take_front(2);
    text = text.drop_front(isType ? standIn->type.size() : std::min<size_t>(2, text.size()));
  }
  return result;
}

} // namespace spmdc::stablehlo
