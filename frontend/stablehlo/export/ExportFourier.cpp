//===- ExportFourier.cpp - Fourier transforms -----------------------------===//
//
// Those of StableHLO take complex arrays, and transform the last dimension.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/export/Exporter.h"

#include "ir/array/FourierOp.h"

using namespace mlir;

namespace spmdc::stablehlo {
namespace {

RankedTensorType withShape(Value x, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, llvm::cast<RankedTensorType>(x.getType()).getElementType());
}

ArrayRef<int64_t> shapeOf(Value x) { return llvm::cast<RankedTensorType>(x.getType()).getShape(); }

/// One part of an array that has both in the last dimension.
Value partOf(Exporter &e, Value x, int64_t part) {
  SmallVector<int64_t> starts(shapeOf(x).size(), 0), limits(shapeOf(x)), strides(starts.size(), 1), shape(limits);
  starts.back() = part;
  limits.back() = part + 1;
  shape.back() = 1;
  Value slice = e.create<SliceOp>(withShape(x, shape), x, starts, limits, strides);
  return e.create<ReshapeOp>(withShape(x, shapeOf(x).drop_back()), slice);
}

/// Moves dimension `from` to the place `to`.
Value move(Exporter &e, Value x, int64_t from, int64_t to) {
  if (from == to)
    return x;
  auto perm = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(shapeOf(x).size())));
  perm.erase(perm.begin() + from);
  perm.insert(perm.begin() + to, from);
  auto shape = llvm::map_to_vector(perm, [&](int64_t dim) { return shapeOf(x)[dim]; });
  return e.create<TransposeOp>(withShape(x, shape), x, perm);
}

Value fft(Exporter &e, spmdc::FftOp op) {
  Value x = e.get(op.getOperand());
  Type element = llvm::cast<RankedTensorType>(x.getType()).getElementType();
  bool isFromReal = op.getOperandParts() == 1, isToReal = op.getResultParts() == 1, isInverse = op.getInverse();
  auto dim = static_cast<int64_t>(op.getDim()), last = static_cast<int64_t>(op.getType().getRank()) - 2;
  auto length = static_cast<int64_t>(op.getLength());
  x = move(e, x, dim, last);
  Value re = partOf(e, x, 0), operand = re;
  if (!isFromReal)
    operand = e.create<ComplexOp>(RankedTensorType::get(shapeOf(re), ComplexType::get(element)), re, partOf(e, x, 1));
  SmallVector<int64_t> shape(shapeOf(re));
  shape.back() = isFromReal ? length / 2 + 1 : length;
  Type result = isToReal ? element : Type(ComplexType::get(element));
  StringRef kind = isFromReal ? "RFFT" : isToReal ? "IRFFT" : isInverse ? "IFFT" : "FFT";
  Value y = e.create<FftOp>(RankedTensorType::get(shape, result), operand, FftTypeAttr::get(e.b.getContext(), kind),
                            ArrayRef<int64_t>{length});
  auto real = RankedTensorType::get(shape, element);
  SmallVector<Value> parts{isToReal ? y : e.create<RealOp>(real, y).getResult()};
  if (!isToReal)
    parts.push_back(e.create<ImagOp>(real, y));
  shape.push_back(1);
  for (Value &part : parts)
    part = e.create<ReshapeOp>(withShape(part, shape), part);
  shape.back() = static_cast<int64_t>(parts.size());
  Value joined = parts[0];
  if (!isToReal)
    joined = e.create<ConcatenateOp>(withShape(joined, shape), parts, static_cast<int64_t>(shape.size()) - 1);
  joined = move(e, joined, last, dim);
  // Inverse transforms of StableHLO are divided by the length.
  double factor = (isInverse ? static_cast<double>(length) : 1.0) / static_cast<double>(op.getDivisor());
  return factor == 1 ? joined : e.create<MultiplyOp>(joined.getType(), joined, e.splatLike(joined, factor)).getResult();
}

} // namespace

void addFourierExports(ExportRules &rules) { rules.add<spmdc::FftOp>(fft); }

} // namespace spmdc::stablehlo
