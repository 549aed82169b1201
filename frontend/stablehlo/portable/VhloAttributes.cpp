//===- VhloAttributes.cpp - VHLO's attributes as StableHLO's --------------===//

#include "frontend/stablehlo/portable/Pool.h"

#include "frontend/stablehlo/dialect/Dialects.h"

using namespace mlir;

namespace spmdc::stablehlo::portable {

/// The word of an enumeration's number; empty words are no values.
static StringRef readWord(ElementReader &reader, ArrayRef<StringRef> words) {
  uint64_t value = reader.number();
  if (value < words.size() && !words[value].empty())
    return words[value];
  reader.fail();
  return {};
}

template <typename Attr> static Attribute readEnum(ElementReader &reader, ArrayRef<StringRef> words) {
  StringRef word = readWord(reader, words);
  return word.empty() ? Attribute() : Attr::get(reader.pool.context, word);
}

/// How exact a function must be. All functions here are as exact as XLA's most exact ones, so it has no effect.
static Attribute skipAccuracy(ElementReader &reader) {
  for (int tolerance = 0; tolerance < 3; ++tolerance) // Absolute and relative, as 64 bits each, and in units.
    reader.signedNumber();
  reader.attribute();
  return UnitAttr::get(reader.pool.context);
}

Attribute readVhloAttribute(ElementReader &reader) {
  MLIRContext *context = reader.pool.context;
  switch (uint64_t code = reader.number()) {
  case 1: {
    SmallVector<Attribute> parts = reader.attributes<Attribute>();
    return reader.hasFailed() ? Attribute() : ArrayAttr::get(context, parts);
  }
  case 2:
    return BoolAttr::get(context, reader.number() != 0);
  case 3:
    return readEnum<ComparisonDirectionAttr>(reader, {"EQ", "NE", "GE", "GT", "LE", "LT"});
  case 4:
    return readEnum<ComparisonTypeAttr>(reader, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"});
  case 5: // The version of a custom call's interface.
    return IntegerAttr::get(IntegerType::get(context, 32), static_cast<int32_t>(reader.number()));
  case 6:
    return readDictionary(reader);
  case 7:
    return readEnum<FftTypeAttr>(reader, {"FFT", "IFFT", "RFFT", "IRFFT"});
  case 8:
  case 9:
    return readNumber(reader, reader.type());
  case 10: {
    SmallVector<int64_t> outputs = reader.signedNumbers();
    int64_t operand = reader.signedNumber();
    return OutputOperandAliasAttr::get(context, outputs, operand, reader.signedNumbers());
  }
  case 11:
    return readEnum<PrecisionAttr>(reader, {"DEFAULT", "HIGH", "HIGHEST"});
  case 12:
    return readEnum<RngAlgorithmAttr>(reader, {"DEFAULT", "THREE_FRY", "PHILOX"});
  case 13:
    return StringAttr::get(context, readWord(reader, {"", "UNIFORM", "NORMAL"}));
  case 14:
    return StringAttr::get(context, reader.string());
  case 15:
    return readTensor(reader, reader.type());
  case 16:
    return readEnum<TransposeAttr>(reader, {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"});
  case 17: {
    Type type = reader.type();
    return type ? TypeAttr::get(type) : Attribute();
  }
  case 18:
    return DenseI64ArrayAttr::get(context, reader.signedNumbers());
  case 19:
    return StringAttr::get(context, readWord(reader, {"DEFAULT", "HIGHEST", "TOLERANCE"}));
  case 20:
    return skipAccuracy(reader);
  default:
    reader.refuseCode("vhlo", code);
    return {};
  }
}

} // namespace spmdc::stablehlo::portable
