//===- TotalOrder.cpp - floats in total order -----------------------------===//

#include "frontend/stablehlo/TotalOrder.h"

using namespace mlir;

namespace spmdc::stablehlo {

Value toTotalOrder(Translation &t, Value x) {
  bool isDouble = spmdc::typeOf(x).getElementType().isF64();
  Value wide = isDouble ? x : t.convert(x, t.b.getF32Type()); // Exact for the 16-bit floats.
  Type integer = isDouble ? t.b.getI64Type() : t.b.getI32Type();
  Value bits = t.create<spmdc::BitcastConvertOp>(plainTypeOf(wide).withElementType(integer), wide);
  int64_t shift = isDouble ? 63 : 31;
  Value sign = t.create<spmdc::ShiftRightArithmeticOp>(bits, t.splatLike(bits, static_cast<double>(shift)));
  Value flip = t.create<spmdc::ShiftRightLogicalOp>(sign, t.splatLike(bits, 1));
  return t.create<spmdc::XorOp>(bits, flip).getResult();
}

} // namespace spmdc::stablehlo
