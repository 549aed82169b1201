//===- TranslateFourier.cpp - Fourier transforms of joined parts ----------===//

#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/complex/Expander.h"

#include "ir/array/FourierOp.h"

#include "runtime/support/RootOfUnity.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Complex arrays have been replaced by arrays of joined parts; any other transform is one of the text's.
FailureOr<Value> fft(Translation &t, FftOp op) {
  Value x = t.get(op.getOperand());
  ArrayType operand = Translation::typeOf(x), result = Translation::typeOf(op.getType());
  auto at = op->getAttrOfType<IntegerAttr>(kFourierDimAttrName);
  StringRef kind = op.getFftType().getValue();
  ArrayRef<int64_t> lengths = op.getFftLength();
  int64_t dim = at ? at.getInt() : -1, rank = operand.getRank();
  bool isFromReal = kind == "RFFT", isToReal = kind == "IRFFT", isInverse = isToReal || kind == "IFFT";
  bool fits = dim >= 0 && dim + 1 < rank && lengths.size() == 1 && spmd::isFourierLength(lengths[0]) &&
              (isFromReal || isInverse || kind == "FFT");
  if (fits) {
    SmallVector<int64_t> from(operand.getShape());
    from[dim] = isToReal ? lengths[0] / 2 + 1 : lengths[0];
    from.back() = isFromReal ? 1 : 2;
    SmallVector<int64_t> to(from);
    to[dim] = isFromReal ? lengths[0] / 2 + 1 : lengths[0];
    to.back() = isToReal ? 1 : 2;
    Type element = operand.getElementType();
    fits = operand.getShape() == ArrayRef(from) && result.getShape() == ArrayRef(to) &&
           (element.isF32() || element.isF64()) && result.getElementType() == element;
  }
  if (!fits)
    return refuse(op, "of type " + kind + " has operands or results of another type");
  auto length = static_cast<uint64_t>(lengths[0]);
  return t
      .create<spmdc::FftOp>(result.withoutSharding(), x, static_cast<uint64_t>(dim), length, isInverse,
                            isInverse ? length : 1)
      .getResult();
}

} // namespace

void addFourierRules(Rules &rules) { rules.add<FftOp>(fft); }

} // namespace spmdc::stablehlo
