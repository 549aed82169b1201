//===- Scalar.cpp - one element, for folding and reference evaluation -----===//

#include "ir/interfaces/Scalar.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <limits>

namespace spmdc {

Scalar roundTo(Scalar value, mlir::Type elementType) {
  if (auto floatType = llvm::dyn_cast<mlir::FloatType>(elementType)) {
    if (floatType.isF64())
      return value;
    if (floatType.isF32())
      return Scalar::ofFloat(static_cast<float>(value.f));
    llvm::APFloat rounded(value.f);
    bool losesInfo;
    rounded.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    rounded.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return Scalar::ofFloat(rounded.convertToDouble());
  }
  auto intType = llvm::dyn_cast<mlir::IntegerType>(elementType);
  if (!intType || intType.getWidth() == 64)
    return value;
  unsigned width = intType.getWidth();
  uint64_t bits = static_cast<uint64_t>(value.i) & ((uint64_t(1) << width) - 1);
  bool isSigned = !intType.isUnsigned() && width > 1;
  if (isSigned && (bits >> (width - 1)))
    bits |= ~uint64_t(0) << width;
  return Scalar::ofInt(static_cast<int64_t>(bits));
}

bool isLessInteger(Scalar a, Scalar b, mlir::Type elementType) {
  return elementType.isUnsignedInteger() ? static_cast<uint64_t>(a.i) < static_cast<uint64_t>(b.i) : a.i < b.i;
}

/// An integer as the nearest value of a float type. As in generated code, integers become half precision by way of f32.
static Scalar integerToFloat(int64_t value, bool isUnsigned, mlir::FloatType to) {
  llvm::APInt bits(64, static_cast<uint64_t>(value));
  llvm::APFloat nearest(to.isF64() ? llvm::APFloat::IEEEdouble() : llvm::APFloat::IEEEsingle());
  nearest.convertFromAPInt(bits, /*IsSigned=*/!isUnsigned, llvm::APFloat::rmNearestTiesToEven);
  bool losesInfo;
  nearest.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return roundTo(Scalar::ofFloat(nearest.convertToDouble()), to);
}

Scalar convertScalar(Scalar value, mlir::Type from, mlir::Type to) {
  bool fromFloat = llvm::isa<mlir::FloatType>(from);
  if (auto floatType = llvm::dyn_cast<mlir::FloatType>(to))
    return fromFloat ? roundTo(value, to) : integerToFloat(value.i, from.isUnsignedInteger(), floatType);
  auto intType = llvm::cast<mlir::IntegerType>(to);
  if (intType.getWidth() == 1)
    return Scalar::ofBool(fromFloat ? value.f != 0 : value.i != 0);
  if (!fromFloat)
    return roundTo(value, to);
  if (std::isnan(value.f))
    return Scalar::ofInt(0);
  unsigned width = intType.getWidth();
  if (intType.isUnsigned()) {
    if (value.f <= 0)
      return Scalar::ofInt(0);
    if (value.f >= std::ldexp(1.0, width))
      return roundTo(Scalar::ofInt(-1), to);
    return Scalar::ofInt(static_cast<int64_t>(static_cast<uint64_t>(value.f)));
  }
  double limit = std::ldexp(1.0, width - 1);
  int64_t highest = std::numeric_limits<int64_t>::max() >> (64 - width);
  if (value.f <= -limit)
    return Scalar::ofInt(-highest - 1);
  return Scalar::ofInt(value.f >= limit ? highest : static_cast<int64_t>(value.f));
}

} // namespace spmdc
