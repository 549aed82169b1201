//===- ReferenceCases.cpp - expected results of operations ----------------===//

#include "tests/ir/support/ReferenceCases.h"

#include "ir/spmd/SpmdTypes.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>
#include <stdexcept>

using namespace mlir;

namespace spmdc {
namespace {

constexpr int64_t kFarApart = std::numeric_limits<int64_t>::max();

Scalar decode(Type elementType, uint64_t bits) {
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    llvm::APFloat value(floatType.getFloatSemantics(), llvm::APInt(floatType.getWidth(), bits));
    bool losesInfo;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return Scalar::ofFloat(value.convertToDouble());
  }
  return roundTo(Scalar::ofInt(static_cast<int64_t>(bits)), elementType);
}

uint64_t encodeFloat(FloatType type, double x) {
  llvm::APFloat value(x);
  bool losesInfo;
  value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.bitcastToAPInt().getZExtValue();
}

Tensor readTensor(MLIRContext &context, const llvm::json::Object &json) {
  std::optional<spmd::DType> dtype = spmd::parseDType(json.getString("dtype").value_or("").str());
  const llvm::json::Array *shape = json.getArray("shape");
  std::optional<StringRef> bits = json.getString("bits");
  if (!dtype || !shape || !bits)
    throw std::runtime_error("reference.json: an array without dtype, shape or bits");
  SmallVector<int64_t> sizes;
  for (const llvm::json::Value &size : *shape)
    sizes.push_back(size.getAsInteger().value_or(-1));
  Tensor tensor(sizes, getElementType(&context, *dtype));
  size_t width = 2 * static_cast<size_t>(spmd::byteSize(*dtype));
  if (bits->size() != width * tensor.elements.size())
    throw std::runtime_error("reference.json: an array with too many or too few bits");
  for (size_t i = 0; i < tensor.elements.size(); ++i) {
    uint64_t value;
    if (bits->substr(i * width, width).getAsInteger(16, value))
      throw std::runtime_error("reference.json: an array with bits that are no number");
    tensor.elements[i] = decode(tensor.elementType, value);
  }
  return tensor;
}

} // namespace

std::vector<ReferenceCase> readReferenceCases(MLIRContext &context) {
  auto buffer = llvm::MemoryBuffer::getFile(SPMDC_SOURCE_DIR "/tests/ir/array/reference.json");
  if (!buffer)
    throw std::runtime_error("cannot read tests/ir/array/reference.json");
  llvm::Expected<llvm::json::Value> json = llvm::json::parse((*buffer)->getBuffer());
  if (!json)
    throw std::runtime_error("reference.json: " + llvm::toString(json.takeError()));
  const llvm::json::Object *root = json->getAsObject();
  const llvm::json::Array *array = root ? root->getArray("cases") : nullptr;
  if (!array)
    throw std::runtime_error("reference.json has no cases");
  std::vector<ReferenceCase> cases;
  for (const llvm::json::Value &value : *array) {
    const llvm::json::Object &entry = *value.getAsObject();
    ReferenceCase reference;
    reference.op = entry.getString("op").value_or("").str();
    reference.name = entry.getString("name").value_or("").str();
    reference.ir = entry.getString("ir").value_or("").str();
    reference.ulp = entry.getInteger("ulp").value_or(0);
    for (const llvm::json::Value &input : *entry.getArray("inputs"))
      reference.inputs.push_back(readTensor(context, *input.getAsObject()));
    reference.output = readTensor(context, *entry.getObject("output"));
    cases.push_back(std::move(reference));
  }
  return cases;
}

int64_t ulpDistance(Type elementType, Scalar a, Scalar b) {
  auto floatType = dyn_cast<FloatType>(elementType);
  if (!floatType)
    return a.i == b.i ? 0 : kFarApart;
  if (std::isnan(a.f) || std::isnan(b.f))
    return std::isnan(a.f) && std::isnan(b.f) ? 0 : kFarApart;
  if (a.f == 0 && b.f == 0)
    return std::signbit(a.f) == std::signbit(b.f) ? 0 : kFarApart;
  // Bits of one sign are in the order of the numbers; the two signs meet at zero.
  uint64_t sign = uint64_t(1) << (floatType.getWidth() - 1);
  auto order = [&](double x) {
    uint64_t bits = encodeFloat(floatType, x);
    return bits & sign ? -static_cast<__int128>(bits & ~sign) : static_cast<__int128>(bits);
  };
  __int128 difference = order(a.f) - order(b.f);
  if (difference < 0)
    difference = -difference;
  return difference > kFarApart ? kFarApart : static_cast<int64_t>(difference);
}

std::string describeDifference(const Tensor &expected, const Tensor &actual, int64_t ulp) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (expected.shape != actual.shape || expected.elementType != actual.elementType) {
    os << "expected " << ArrayType::get(expected.shape, expected.elementType).str() << ", got "
       << ArrayType::get(actual.shape, actual.elementType).str();
    return text;
  }
  bool isFloat = isa<FloatType>(expected.elementType);
  for (size_t i = 0; i < expected.elements.size(); ++i) {
    Scalar want = expected.elements[i], got = actual.elements[i];
    int64_t distance = ulpDistance(expected.elementType, want, got);
    if (distance <= ulp)
      continue;
    os << "element " << i << ": expected ";
    if (isFloat)
      os << llvm::format("%.17g", want.f) << ", got " << llvm::format("%.17g", got.f);
    else
      os << want.i << ", got " << got.i;
    if (isFloat && distance != kFarApart)
      os << " (" << distance << " ulp)";
    return text;
  }
  return text;
}

} // namespace spmdc
