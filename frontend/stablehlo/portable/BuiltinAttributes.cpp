//===- BuiltinAttributes.cpp - numbers, texts, constants, locations -------===//

#include "frontend/stablehlo/narrow/NarrowTypes.h"
#include "frontend/stablehlo/portable/Pool.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace spmdc::stablehlo::portable {

Attribute readNumber(ElementReader &reader, Type type) {
  if (!type)
    return {};
  if (auto floating = llvm::dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    return FloatAttr::get(type, llvm::APFloat(semantics, reader.bits(llvm::APFloat::getSizeInBits(semantics))));
  }
  if (!type.isIntOrIndex())
    return {};
  unsigned width = type.isIndex() ? IndexType::kInternalStorageBitWidth : type.getIntOrFloatBitWidth();
  return IntegerAttr::get(type, reader.bits(width));
}

//===- Constants ----------------------------------------------------------===//

/// The number of elements; nullopt if it is dynamic or overflows.
static std::optional<uint64_t> countElements(RankedTensorType type) {
  int64_t count = 1;
  for (int64_t size : type.getShape())
    if (size < 0 || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return static_cast<uint64_t>(count);
}

/// Versions of MLIR store bools as a bit or a byte each. A byte of ones is always a splat, so that one byte for eight
/// bools or fewer is not ambiguous.
static Attribute makeBools(RankedTensorType type, uint64_t count, StringRef data) {
  auto byteAt = [&](uint64_t i) { return static_cast<uint8_t>(data[i]); };
  bool isPacked = data.size() == llvm::divideCeil(count, 8) && data.size() != count;
  if (data.size() == 1 && (byteAt(0) == 0xff || byteAt(0) == 0 || !isPacked))
    return DenseElementsAttr::get(type, byteAt(0) != 0);
  if (!isPacked && data.size() != count)
    return {};
  SmallVector<bool> values(count);
  for (uint64_t i = 0; i < count; ++i)
    values[i] = isPacked ? byteAt(i / 8) >> (i % 8) & 1 : byteAt(i) != 0;
  return DenseElementsAttr::get(type, values);
}

Attribute readTensor(ElementReader &reader, Type type) {
  auto tensor = llvm::dyn_cast_or_null<RankedTensorType>(type);
  StringRef data = reader.blob();
  std::optional<uint64_t> count = tensor ? countElements(tensor) : std::nullopt;
  if (!count || reader.hasFailed())
    return {};
  Type element = tensor.getElementType();
  if (element.isSignlessInteger(1))
    return makeBools(tensor, *count, data);
  if (auto complex = llvm::dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  std::string wide; // Of the type that stands for f8E8M0FNU, which has a byte in the artifact and two here.
  if (element == narrowElement(reader.pool.context, spmd::ElementFormat::F8E8M0FNU)) {
    for (char byte : data)
      wide.append({byte, '\0'});
    data = wide;
  }
  bool isSplat = false;
  ArrayRef<char> bytes(data.data(), data.size());
  if (!element.isIntOrIndexOrFloat() || !DenseElementsAttr::isValidRawBuffer(tensor, bytes, isSplat))
    return {};
  return DenseElementsAttr::getFromRawBuffer(tensor, bytes);
}

static Attribute readArray(ElementReader &reader) {
  Type element = reader.type();
  uint64_t size = reader.number();
  StringRef data = reader.blob();
  if (reader.hasFailed() || !element.isIntOrFloat() || size > data.size())
    return {};
  return DenseArrayAttr::getChecked([&] { return reader.pool.emitError(); }, element, static_cast<int64_t>(size),
                                    ArrayRef<char>(data.data(), data.size()));
}

//===- Lists and names ----------------------------------------------------===//

Attribute readDictionary(ElementReader &reader) {
  SmallVector<NamedAttribute> entries;
  for (uint64_t left = reader.count(); left > 0 && !reader.hasFailed(); --left) {
    auto name = reader.attribute<StringAttr>();
    Attribute value = reader.attribute();
    if (!name || name.empty() || !value)
      return {};
    entries.emplace_back(name, value);
  }
  if (DictionaryAttr::findDuplicate(entries, /*isSorted=*/false))
    return {};
  return DictionaryAttr::get(reader.pool.context, entries);
}

static Attribute readSymbol(ElementReader &reader, bool isNested) {
  auto root = reader.attribute<StringAttr>();
  SmallVector<FlatSymbolRefAttr> nested;
  if (isNested)
    nested = reader.attributes<FlatSymbolRefAttr>();
  return reader.hasFailed() ? Attribute() : SymbolRefAttr::get(root, nested);
}

//===- Locations ----------------------------------------------------------===//

static unsigned lineOrColumn(ElementReader &reader) {
  uint64_t value = reader.number();
  return value <= UINT32_MAX ? static_cast<unsigned>(value) : 0;
}

static Attribute readCall(ElementReader &reader) {
  auto callee = reader.attribute<LocationAttr>(), caller = reader.attribute<LocationAttr>();
  return reader.hasFailed() ? Attribute() : CallSiteLoc::get(callee, caller);
}

static Attribute readPlace(ElementReader &reader) {
  auto file = reader.attribute<StringAttr>();
  unsigned line = lineOrColumn(reader), column = lineOrColumn(reader);
  return reader.hasFailed() ? Attribute() : FileLineColLoc::get(file, line, column);
}

/// The location that TextForm.h makes of the range in text. Python counts columns from 0 and ends behind the last
/// character; a range here counts from 1 and ends with it.
static Attribute makeRange(StringAttr file, unsigned line, unsigned column, unsigned endLine, unsigned endColumn) {
  unsigned last = endLine == line ? std::max(column + 1, endColumn) : std::max(1u, endColumn);
  Location first = FileLineColLoc::get(file, line, column + 1), end = FileLineColLoc::get(file, endLine, last);
  return FusedLoc::get({first, end}, StringAttr::get(file.getContext(), "range"), file.getContext());
}

/// A range of a file: no numbers; its line; its line and column; these and the last column; or those of both ends.
static Attribute readRange(ElementReader &reader) {
  auto file = reader.attribute<StringAttr>();
  SmallVector<unsigned> numbers;
  for (uint64_t left = reader.count(); left > 0 && numbers.size() < 4; --left)
    numbers.push_back(lineOrColumn(reader));
  if (reader.hasFailed())
    return {};
  bool hasEnd = numbers.size() > 2;
  unsigned line = numbers.empty() ? 0 : numbers[0], column = numbers.size() < 2 ? 0 : numbers[1];
  if (!hasEnd)
    return FileLineColLoc::get(file, line, column);
  unsigned endLine = numbers.size() == 4 ? numbers[2] : line;
  return makeRange(file, line, column, endLine, numbers.back());
}

static Attribute readFused(ElementReader &reader, bool hasMetadata) {
  SmallVector<Location> parts;
  for (uint64_t left = reader.count(); left > 0 && !reader.hasFailed(); --left)
    if (auto part = reader.attribute<LocationAttr>())
      parts.emplace_back(part);
  Attribute metadata = hasMetadata ? reader.attribute() : Attribute();
  return reader.hasFailed() ? Attribute() : FusedLoc::get(parts, metadata, reader.pool.context);
}

static Attribute readNamedPlace(ElementReader &reader) {
  auto name = reader.attribute<StringAttr>();
  auto child = reader.attribute<LocationAttr>();
  return reader.hasFailed() ? Attribute() : NameLoc::get(name, child);
}

Attribute readBuiltinAttribute(ElementReader &reader) {
  MLIRContext *context = reader.pool.context;
  switch (uint64_t code = reader.number()) {
  case 0: {
    SmallVector<Attribute> parts = reader.attributes<Attribute>();
    return reader.hasFailed() ? Attribute() : ArrayAttr::get(context, parts);
  }
  case 1:
    return readDictionary(reader);
  case 2:
    return StringAttr::get(context, reader.string());
  case 3: {
    StringRef text = reader.string();
    Type type = reader.type();
    return type ? StringAttr::get(text, type) : Attribute();
  }
  case 4:
    return readSymbol(reader, /*isNested=*/false);
  case 5:
    return readSymbol(reader, /*isNested=*/true);
  case 6: {
    Type type = reader.type();
    return type ? TypeAttr::get(type) : Attribute();
  }
  case 7:
    return UnitAttr::get(context);
  case 8:
  case 9:
    return readNumber(reader, reader.type());
  case 10:
    return readCall(reader);
  case 11:
    return readPlace(reader);
  case 12:
    return readFused(reader, /*hasMetadata=*/false);
  case 13:
    return readFused(reader, /*hasMetadata=*/true);
  case 14:
    return readNamedPlace(reader);
  case 15:
    return UnknownLoc::get(context);
  case 17:
    return readArray(reader);
  case 18:
    return readTensor(reader, reader.type());
  case 22:
    return readRange(reader);
  default:
    reader.refuseCode("builtin", code);
    return {};
  }
}

} // namespace spmdc::stablehlo::portable
