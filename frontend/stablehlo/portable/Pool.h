//===- Pool.h - the attributes and types of a portable artifact -*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/portable/Sections.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/DenseMap.h"

namespace spmdc::stablehlo::portable {

class ElementReader;

/// The attributes and types of a file by their numbers, each decoded once. VHLO's are those of StableHLO and of the
/// builtin dialect that VHLO versions: `#vhlo.integer_v1` is an IntegerAttr, `!vhlo.tensor_v1` a tensor.
class Pool {
public:
  Pool(const Sections &sections, mlir::MLIRContext *context, ReadFailure &failure);

  /// Null after a failure.
  mlir::Attribute attribute(uint64_t index);
  mlir::Type type(uint64_t index);
  /// An element of a kind; fails for another one.
  template <typename Attr> Attr attribute(uint64_t index) {
    auto found = llvm::dyn_cast_or_null<Attr>(attribute(index));
    if (!found)
      failure.setDamaged("attributes");
    return found;
  }
  mlir::Location location(uint64_t index) {
    auto found = attribute<mlir::LocationAttr>(index);
    return found ? mlir::Location(found) : mlir::Location(mlir::UnknownLoc::get(context));
  }

  /// About the length of an element's text. An element may name others many times, so that the text of a short file may
  /// be longer than any memory.
  uint64_t textSize(uint64_t attribute) const { return attributes[attribute].textSize; }
  uint64_t textSize(mlir::Type type) const { return typeSizes.lookup(type); }

  /// Reports an error of a constructor of MLIR, which has the cause.
  mlir::InFlightDiagnostic emitError() const { return mlir::emitError(mlir::UnknownLoc::get(context)); }

  mlir::MLIRContext *const context;
  const Sections &sections;
  ReadFailure &failure;

private:
  template <typename Value> struct Entry {
    Value value;
    bool isOpen = false; ///< It is being decoded: naming it again is a cycle.
    uint64_t textSize = 0;
  };
  template <typename Value, typename Decode>
  Value resolve(std::vector<Entry<Value>> &entries, const std::vector<Sections::Element> &elements, uint64_t index,
                Decode decode);

  std::vector<Entry<mlir::Attribute>> attributes;
  std::vector<Entry<mlir::Type>> types;
  llvm::DenseMap<mlir::Type, uint64_t> typeSizes;
  /// Of the element that is being decoded.
  unsigned depth = 0;
  uint64_t sizeSoFar = 0;
};

/// Reads one element's bytes, with the elements that it names.
class ElementReader : public Cursor {
public:
  ElementReader(llvm::StringRef bytes, Pool &pool)
      : Cursor(bytes, pool.sections.file.data(), "attributes", pool.failure), pool(pool) {}

  mlir::Attribute attribute() { return pool.attribute(number()); }
  template <typename Attr> Attr attribute() { return pool.attribute<Attr>(number()); }
  mlir::Type type() { return pool.type(number()); }
  /// Null if it is absent.
  mlir::Attribute optionalAttribute() {
    bool isPresent = false;
    uint64_t index = numberWithFlag(isPresent);
    return isPresent ? pool.attribute(index) : mlir::Attribute();
  }
  llvm::StringRef string();
  llvm::StringRef blob() { return take(number()); }
  llvm::SmallVector<int64_t> signedNumbers();
  llvm::SmallVector<mlir::Type> types();
  template <typename Attr> llvm::SmallVector<Attr> attributes() {
    llvm::SmallVector<Attr> list;
    for (uint64_t left = count(); left > 0 && !hasFailed(); --left)
      list.push_back(attribute<Attr>());
    return list;
  }
  /// An integer, or the bits of a float.
  llvm::APInt bits(unsigned width);

  /// Refuses an element of a code that this reader does not know or support.
  void refuseCode(llvm::StringRef dialect, uint64_t code) const {
    failure.set("it has an attribute or type that is not read: code " + llvm::Twine(code) + " of the dialect '" +
                dialect + "'");
  }

  Pool &pool;
};

/// Elements of one dialect; null if the bytes are damaged or the code is unknown.
mlir::Attribute readBuiltinAttribute(ElementReader &reader);
mlir::Attribute readVhloAttribute(ElementReader &reader);
mlir::Attribute readSdyAttribute(ElementReader &reader);
mlir::Type readBuiltinType(ElementReader &reader);
mlir::Type readVhloType(ElementReader &reader);

/// Pairs of a name, which is an attribute, and a value; null if a name is empty or is there twice.
mlir::Attribute readDictionary(ElementReader &reader);
/// A value of an integer, float or index type; null for other types.
mlir::Attribute readNumber(ElementReader &reader, mlir::Type type);
/// A constant of a tensor type from the bytes of its elements; bools may be a bit or a byte each.
mlir::Attribute readTensor(ElementReader &reader, mlir::Type type);
/// The tensor of these sizes; null if they are none.
mlir::Type makeTensor(ElementReader &reader, llvm::ArrayRef<int64_t> sizes, mlir::Type elementType);

} // namespace spmdc::stablehlo::portable
