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

Scalar convertScalar(Scalar value, mlir::Type from, mlir::Type to) {
  bool fromFloat = llvm::isa<mlir::FloatType>(from);
  if (llvm::isa<mlir::FloatType>(to))
    return roundTo(Scalar::ofFloat(fromFloat ? value.f : static_cast<double>(value.i)), to);
  auto intType = llvm::cast<mlir::IntegerType>(to);
  if (intType.getWidth() == 1)
    return Scalar::ofBool(fromFloat ? value.f != 0 : value.i != 0);
  if (!fromFloat)
    return roundTo(value, to);
  if (std::isnan(value.f))
    return Scalar::ofInt(0);
  unsigned width = intType.getWidth();
  double low = intType.isUnsigned() ? 0.0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, intType.isUnsigned() ? width : width - 1);
  if (value.f <= low)
    return Scalar::ofInt(intType.isUnsigned() ? 0
                         : width == 64        ? std::numeric_limits<int64_t>::min()
                                              : -(int64_t(1) << (width - 1)));
  if (value.f >= high)
    return Scalar::ofInt(width == 64 ? std::numeric_limits<int64_t>::max()
                                     : (int64_t(1) << (intType.isUnsigned() ? width : width - 1)) - 1);
  return Scalar::ofInt(static_cast<int64_t>(value.f));
}

} // namespace spmdc
