//===- Tensors.cpp - inputs of tests, bytes, distances --------------------===//

#include "tests/passes/support/Tensors.h"

#include "ir/spmd/SpmdTypes.h"
#include "passes/pipeline/Registration.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;

namespace spmdc {

std::unique_ptr<MLIRContext> makeTestContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

std::string toBytes(const Tensor &tensor) {
  std::string bytes;
  Type type = tensor.elementType;
  for (const Scalar &element : tensor.elements) {
    uint64_t bits = static_cast<uint64_t>(element.i);
    unsigned width = std::max(8u, type.getIntOrFloatBitWidth());
    if (auto floatType = dyn_cast<FloatType>(type)) {
      APFloat value(element.f);
      bool losesInfo = false;
      value.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    for (unsigned byte = 0; byte < width / 8; ++byte)
      bytes.push_back(static_cast<char>(bits >> (8 * byte)));
  }
  return bytes;
}

Tensor fromBytes(const char *bytes, ArrayRef<int64_t> shape, Type elementType) {
  Tensor tensor(shape, elementType);
  unsigned width = std::max(8u, elementType.getIntOrFloatBitWidth()) / 8;
  for (Scalar &element : tensor.elements) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes, width);
    bytes += width;
    if (auto floatType = dyn_cast<FloatType>(elementType)) {
      APFloat value(floatType.getFloatSemantics(), APInt(width * 8, bits));
      bool losesInfo = false;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      element = Scalar::ofFloat(value.convertToDouble());
    } else {
      bool isSigned = !isUnsigned(elementType) && !elementType.isInteger(1);
      element = Scalar::ofInt(isSigned && width < 8 ? static_cast<int64_t>(bits << (64 - width * 8)) >> (64 - width * 8)
                                                    : static_cast<int64_t>(bits));
    }
  }
  return tensor;
}

double ulpDistance(Type elementType, Scalar x, Scalar y) {
  double infinity = std::numeric_limits<double>::infinity();
  auto floatType = dyn_cast<FloatType>(elementType);
  if (!floatType)
    return x.i == y.i ? 0 : infinity;
  if (std::isnan(x.f) || std::isnan(y.f))
    return std::isnan(x.f) && std::isnan(y.f) ? 0 : infinity;
  if (x.f == y.f)
    return 0;
  unsigned precision = APFloat::semanticsPrecision(floatType.getFloatSemantics());
  int smallest = APFloat::semanticsMinExponent(floatType.getFloatSemantics());
  double largest = std::ldexp(2.0, APFloat::semanticsMaxExponent(floatType.getFloatSemantics()));
  // Infinity counts as one step beyond the largest number.
  auto bounded = [&](double value) {
    return std::isinf(value) && precision < 53 ? std::copysign(largest, value) : value;
  };
  if (precision == 53 && (std::isinf(x.f) || std::isinf(y.f)))
    return infinity;
  double reference = bounded(y.f);
  int exponent = reference == 0 ? smallest : std::max(smallest, std::ilogb(reference));
  return std::abs(bounded(x.f) - reference) / std::ldexp(1.0, exponent - static_cast<int>(precision) + 1);
}

Tensor makeInput(ArrayRef<int64_t> shape, Type elementType, unsigned seed, InputKind kind) {
  bool isWild = kind == InputKind::Wild;
  std::mt19937 random(seed);
  Tensor tensor(shape, elementType);
  static const double kFloats[] = {0.0,  -0.0, 1.0,   -1.0, 0.5,    INFINITY, -INFINITY, NAN,  1e-40,  -1e-40,
                                   1e30, 88.0, -88.0, 2.5,  -103.0, 1e-5,     3e38,      -1.5, 0.9999, 710.0};
  for (Scalar &element : tensor.elements) {
    bool isSpecial = isWild && random() % 3 == 0;
    if (isa<FloatType>(elementType)) {
      // Without special values: powers of two, whose sums and products f32 holds exactly in any order.
      static const double kExact[] = {1.0, -1.0, 0.5, -0.5, 2.0, -2.0};
      double value = isSpecial ? kFloats[random() % std::size(kFloats)]
                               : (static_cast<double>(random()) / 4294967296.0 - 0.5) * (random() % 4 ? 4.0 : 60.0);
      if (kind == InputKind::Exact)
        value = kExact[random() % std::size(kExact)];
      element = roundTo(Scalar::ofFloat(value), elementType);
    } else if (elementType.isInteger(1)) {
      element = Scalar::ofBool(random() % 2);
    } else {
      int64_t value = static_cast<int64_t>(random() % 21) - 10;
      if (isSpecial)
        value = static_cast<int64_t>((static_cast<uint64_t>(random()) << 32) | random()) >> (random() % 64);
      element = roundTo(Scalar::ofInt(value), elementType);
    }
  }
  return tensor;
}

} // namespace spmdc
