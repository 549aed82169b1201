//===- Pool.cpp - the attributes and types of a portable artifact ---------===//

#include "frontend/stablehlo/portable/Pool.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace spmdc::stablehlo::portable {

namespace {

/// Elements nest through calls of functions here and in MLIR's printer. JAX's deepest, locations of calls, have one
/// level for each frame of Python, of which it keeps ten.
constexpr unsigned kMaxDepth = 256;
/// Sums of sizes do not overflow.
constexpr uint64_t kMaxTextSize = uint64_t(1) << 40;

/// Whether a text's brackets are nested deeper than MLIR's recursive parser may go.
bool isTooDeep(StringRef text) {
  unsigned depth = 0;
  for (char letter : text) {
    depth += StringRef("([{<").contains(letter);
    if (depth > kMaxDepth)
      return true;
    depth -= depth > 0 && StringRef(")]}>").contains(letter);
  }
  return false;
}

Attribute readText(ElementReader &reader, const Attribute * /*kind*/) {
  StringRef text = reader.takeTerminated();
  return isTooDeep(text) ? Attribute() : parseAttribute(text, reader.pool.context);
}

Type readText(ElementReader &reader, const Type * /*kind*/) {
  StringRef text = reader.takeTerminated();
  return isTooDeep(text) ? Type() : parseType(text, reader.pool.context);
}

} // namespace

Pool::Pool(const Sections &sections, MLIRContext *context, ReadFailure &failure)
    : context(context), sections(sections), failure(failure), attributes(sections.attributes.size()),
      types(sections.types.size()) {}

template <typename Value, typename Decode>
Value Pool::resolve(std::vector<Entry<Value>> &entries, const std::vector<Sections::Element> &elements, uint64_t index,
                    Decode decode) {
  if (failure.has() || index >= entries.size() || entries[index].isOpen || depth > kMaxDepth) {
    failure.setDamaged("attributes");
    return {};
  }
  Entry<Value> &entry = entries[index];
  if (!entry.value) {
    const Sections::Element &element = elements[index];
    ElementReader reader(element.bytes, *this);
    unsigned outerDepth = std::exchange(depth, depth + 1);
    uint64_t outerSize = std::exchange(sizeSoFar, 16 + 4 * element.bytes.size());
    entry.isOpen = true;
    entry.value = element.hasEncoding ? decode(reader, element.dialect) : readText(reader, &entry.value);
    entry.isOpen = false;
    entry.textSize = std::min(sizeSoFar, kMaxTextSize);
    depth = outerDepth;
    sizeSoFar = outerSize;
    if (!entry.value || !reader.isAtEnd())
      failure.setDamaged("attributes");
    if (failure.has())
      entry.value = {};
  }
  sizeSoFar = std::min(sizeSoFar + entry.textSize, kMaxTextSize);
  return entry.value;
}

Attribute Pool::attribute(uint64_t index) {
  return resolve(attributes, sections.attributes, index, [](ElementReader &reader, StringRef dialect) {
    return dialect == "builtin" ? readBuiltinAttribute(reader)
           : dialect == "vhlo"  ? readVhloAttribute(reader)
           : dialect == "sdy"   ? readSdyAttribute(reader)
                                : Attribute();
  });
}

Type Pool::type(uint64_t index) {
  Type type = resolve(types, sections.types, index, [](ElementReader &reader, StringRef dialect) {
    return dialect == "builtin" ? readBuiltinType(reader) : dialect == "vhlo" ? readVhloType(reader) : Type();
  });
  if (type)
    typeSizes.try_emplace(type, types[index].textSize);
  return type;
}

StringRef ElementReader::string() {
  uint64_t index = number();
  if (index < pool.sections.strings.size())
    return pool.sections.strings[index];
  fail();
  return {};
}

SmallVector<int64_t> ElementReader::signedNumbers() {
  SmallVector<int64_t> list;
  for (uint64_t left = count(); left > 0; --left)
    list.push_back(signedNumber());
  return list;
}

SmallVector<Type> ElementReader::types() {
  SmallVector<Type> list;
  for (uint64_t left = count(); left > 0 && !hasFailed(); --left)
    list.push_back(type());
  return list;
}

llvm::APInt ElementReader::bits(unsigned width) {
  if (width <= 8)
    return {width, byte()};
  if (width <= 64)
    return {width, static_cast<uint64_t>(signedNumber()), /*isSigned=*/true};
  SmallVector<uint64_t> words;
  for (uint64_t left = count(); left > 0; --left)
    words.push_back(static_cast<uint64_t>(signedNumber()));
  if (words.empty())
    fail();
  return words.empty() ? llvm::APInt(width, 0) : llvm::APInt(width, words);
}

} // namespace spmdc::stablehlo::portable
