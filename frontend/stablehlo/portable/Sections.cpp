//===- Sections.cpp - the parts of a file of MLIR bytecode ----------------===//

#include "frontend/stablehlo/portable/Sections.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

using llvm::StringRef;

namespace spmdc::stablehlo::portable {

namespace {

/// The kinds of sections. The others hold resources, which no export of JAX uses, and versions of dialects.
enum Kind : unsigned { Strings = 0, Dialects = 1, Elements = 2, ElementSizes = 3, Operations = 4, Properties = 8 };
constexpr unsigned kKinds = 9;

struct Reader {
  Sections &result;
  ReadFailure &failure;
  std::vector<StringRef> dialects;

  Cursor at(StringRef bytes, StringRef part) const { return {bytes, result.file.data(), part, failure}; }

  StringRef stringAt(Cursor &cursor, uint64_t index) const {
    if (index < result.strings.size())
      return result.strings[index];
    cursor.fail();
    return {};
  }

  StringRef dialectAt(Cursor &cursor) const {
    uint64_t index = cursor.number();
    if (index < dialects.size())
      return dialects[index];
    cursor.fail();
    return {};
  }

  /// Sizes in reverse order, each with a null byte; then the bytes.
  void readStrings(Cursor cursor) const {
    result.strings.resize(cursor.count());
    std::vector<uint64_t> sizes(result.strings.size());
    for (uint64_t &size : llvm::reverse(sizes))
      size = cursor.number();
    for (auto [string, size] : llvm::zip_equal(result.strings, sizes)) {
      StringRef taken = cursor.take(size);
      if (taken.empty())
        cursor.fail();
      string = taken.drop_back(taken.empty() ? 0 : 1);
    }
  }

  void readDialects(Cursor cursor) {
    for (uint64_t left = cursor.count(); left > 0; --left) {
      bool hasVersion = false;
      uint64_t name = result.version < kVersionOfDialects ? cursor.number() : cursor.numberWithFlag(hasVersion);
      dialects.push_back(stringAt(cursor, name));
      if (hasVersion)
        cursor.section();
    }
    if (result.version >= kVersionWithoutUnknownLocations)
      cursor.number(); // The number of names, to reserve memory.
    while (!cursor.isAtEnd()) {
      StringRef dialect = dialectAt(cursor);
      for (uint64_t left = cursor.count(); left > 0; --left) {
        Sections::OperationName name{dialect, {}, true};
        uint64_t string =
            result.version < kVersionOfProperties ? cursor.number() : cursor.numberWithFlag(name.isRegistered);
        name.name = stringAt(cursor, string);
        result.operations.push_back(name);
      }
    }
  }

  /// Groups of one dialect: sizes of elements whose bytes follow each other in `data`.
  void readElements(Cursor &sizes, Cursor &data, std::vector<Sections::Element> &elements, uint64_t count) const {
    while (elements.size() < count && !sizes.hasFailed()) {
      StringRef dialect = dialectAt(sizes);
      uint64_t left = sizes.count();
      if (left > count - elements.size())
        sizes.fail();
      for (; left > 0 && !sizes.hasFailed(); --left) {
        Sections::Element element{dialect, {}, false};
        element.bytes = data.take(sizes.numberWithFlag(element.hasEncoding));
        elements.push_back(element);
      }
    }
  }

  void readProperties(Cursor cursor) const {
    for (uint64_t left = cursor.count(); left > 0; --left)
      result.properties.push_back(cursor.take(cursor.number()));
  }
};

} // namespace

Sections readSections(StringRef file, ReadFailure &failure) {
  Sections result;
  result.file = file;
  Reader reader{result, failure, {}};
  Cursor cursor = reader.at(file, "header");
  if (cursor.take(kBytecodeMagic.size()) != kBytecodeMagic)
    cursor.fail();
  result.version = cursor.number();
  result.producer = cursor.takeTerminated();
  if (result.version > kNewestVersion) {
    failure.set("its bytecode has version " + llvm::Twine(result.version) + ", and the newest that is read is " +
                llvm::Twine(kNewestVersion) + "; export text: jax.jit(f).lower(...).as_text(debug_info=True)");
    return result;
  }
  std::array<StringRef, kKinds> parts;
  while (!cursor.isAtEnd()) {
    Cursor::Section section = cursor.section();
    if (section.id >= kKinds)
      cursor.fail();
    else
      parts[section.id] = section.bytes;
  }
  reader.readStrings(reader.at(parts[Strings], "strings"));
  reader.readDialects(reader.at(parts[Dialects], "dialects"));
  Cursor sizes = reader.at(parts[ElementSizes], "attributes"), data = reader.at(parts[Elements], "attributes");
  uint64_t attributes = sizes.count(), types = sizes.count();
  reader.readElements(sizes, data, result.attributes, attributes);
  reader.readElements(sizes, data, result.types, types);
  if (result.version >= kVersionOfProperties)
    reader.readProperties(reader.at(parts[Properties], "properties"));
  result.operationBytes = parts[Operations];
  return result;
}

} // namespace spmdc::stablehlo::portable
