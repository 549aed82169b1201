//===- NarrowTypes.cpp - the types of narrow numbers ----------------------===//

#include "frontend/stablehlo/narrow/NarrowTypes.h"

#include "frontend/stablehlo/Formula.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using spmd::ElementFormat;
using spmd::NarrowFormat;

namespace spmdc::stablehlo {

Type narrowElement(MLIRContext *context, ElementFormat format) {
  switch (format) {
  case ElementFormat::Plain:
  case ElementFormat::Complex:
    return {};
  case ElementFormat::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case ElementFormat::F8E5M2:
    return Float8E5M2Type::get(context);
  case ElementFormat::F8E4M3:
    return Float8E4M3Type::get(context);
  case ElementFormat::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case ElementFormat::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case ElementFormat::F8E4M3B11FNUZ:
    return Float8E4M3B11FNUZType::get(context);
  // Types that MLIR 19 has no name for (NarrowText.h).
  case ElementFormat::F8E3M4:
    return IntegerType::get(context, 8, IntegerType::Signed);
  case ElementFormat::F8E8M0FNU:
    return IntegerType::get(context, 9, IntegerType::Signed);
  case ElementFormat::F4E2M1FN:
    return IntegerType::get(context, 4, IntegerType::Signed);
  case ElementFormat::I4:
    return IntegerType::get(context, 4);
  case ElementFormat::U4:
    return IntegerType::get(context, 4, IntegerType::Unsigned);
  case ElementFormat::I2:
    return IntegerType::get(context, 2);
  case ElementFormat::U2:
    return IntegerType::get(context, 2, IntegerType::Unsigned);
  }
  llvm_unreachable("every format is above");
}

const NarrowFormat *findNarrowElement(Type element) {
  for (const NarrowFormat &format : spmd::kNarrowFormats)
    if (element == narrowElement(element.getContext(), format.format))
      return &format;
  return nullptr;
}

const NarrowFormat *findNarrow(Type tensor) {
  auto ranked = llvm::dyn_cast<RankedTensorType>(tensor);
  return ranked ? findNarrowElement(ranked.getElementType()) : nullptr;
}

unsigned bitsOf(Type element) {
  const NarrowFormat *format = findNarrowElement(element);
  return format ? static_cast<unsigned>(format->bits) : element.getIntOrFloatBitWidth();
}

Type storageOf(MLIRContext *context, const NarrowFormat &format) {
  return IntegerType::get(context, 8, format.isSigned() ? IntegerType::Signless : IntegerType::Unsigned);
}

Type storageOf(Type tensor) {
  const NarrowFormat *format = findNarrow(tensor);
  return format ? withElement(tensor, storageOf(tensor.getContext(), *format)) : tensor;
}

StringRef findUnreadElement(StringRef text) {
  StringRef first;
  for (StringRef name : {"f6E2M3FN", "f6E3M2FN"})
    for (StringRef before : {"x", "<"})
      if (size_t at = text.find((before + name + ">").str()); at != StringRef::npos)
        if (StringRef found = text.substr(at + 1, name.size()); first.empty() || found.data() < first.data())
          first = found;
  return first;
}

std::string listNarrowTypes() {
  std::string text;
  for (const NarrowFormat &format : spmd::kNarrowFormats)
    text += (text.empty() ? "" : " ") + std::string(format.name());
  return text;
}

} // namespace spmdc::stablehlo
