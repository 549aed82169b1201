//===- ExportMovement.cpp - constants, shapes, slices ---------------------===//

#include "frontend/stablehlo/export/Exporter.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// From this number of elements on, MLIR prints a constant as hexadecimal bytes.
constexpr int64_t kMaxPrintedElements = 100;

/// Versions of MLIR differ in the bytes of bools: 19 writes a bit for each, newer ones a byte. A long constant of bools
/// is therefore written as u8.
Value constant(Exporter &e, spmdc::ConstantOp op) {
  auto value = llvm::cast<DenseElementsAttr>(op.getValue());
  RankedTensorType type = Exporter::typeOf(op.getResult());
  if (!type.getElementType().isInteger(1) || value.isSplat() || value.getNumElements() <= kMaxPrintedElements)
    return e.create<ConstantOp>(type, value);
  SmallVector<uint8_t> bytes = llvm::map_to_vector(value.getValues<bool>(), [](bool bit) { return uint8_t(bit); });
  RankedTensorType byteType = type.clone(IntegerType::get(e.b.getContext(), 8, IntegerType::Unsigned));
  return e.convert(e.create<ConstantOp>(byteType, DenseElementsAttr::get(byteType, ArrayRef(bytes))),
                   type.getElementType());
}

Value iota(Exporter &e, spmdc::IotaOp op) { return e.create<IotaOp>(Exporter::typeOf(op.getResult()), op.getDim()); }

Value broadcast(Exporter &e, spmdc::BroadcastInDimOp op) {
  return e.create<BroadcastInDimOp>(Exporter::typeOf(op.getResult()), e.get(op.getOperand()), op.getDims());
}

Value reshape(Exporter &e, spmdc::ReshapeOp op) {
  return e.create<ReshapeOp>(Exporter::typeOf(op.getResult()), e.get(op.getOperand()));
}

Value transpose(Exporter &e, spmdc::TransposeOp op) {
  return e.create<TransposeOp>(Exporter::typeOf(op.getResult()), e.get(op.getOperand()), op.getPerm());
}

Value slice(Exporter &e, spmdc::SliceOp op) {
  return e.create<SliceOp>(Exporter::typeOf(op.getResult()), e.get(op.getOperand()), op.getStarts(), op.getLimits(),
                           op.getStrides());
}

Value pad(Exporter &e, spmdc::PadOp op) {
  return e.create<PadOp>(Exporter::typeOf(op.getResult()), e.get(op.getOperand()), e.get(op.getValue()), op.getLow(),
                         op.getHigh(), op.getInterior());
}

Value concatenate(Exporter &e, spmdc::ConcatenateOp op) {
  return e.create<ConcatenateOp>(Exporter::typeOf(op.getResult()), e.get(op.getOperands()), op.getDim());
}

Value reverse(Exporter &e, spmdc::ReverseOp op) {
  return e.create<ReverseOp>(Exporter::typeOf(op.getResult()), e.get(op.getOperand()), op.getDims());
}

/// StableHLO wants starts of one type.
SmallVector<Value> startsOf(Exporter &e, ValueRange arrays) {
  SmallVector<Value> starts = e.get(arrays);
  if (!llvm::all_equal(ValueRange(starts).getTypes()))
    for (Value &start : starts)
      start = e.convert(start, e.b.getI64Type());
  return starts;
}

Value dynamicSlice(Exporter &e, spmdc::DynamicSliceOp op) {
  return e.create<DynamicSliceOp>(Exporter::typeOf(op.getResult()), e.get(op.getOperand()), startsOf(e, op.getStarts()),
                                  op.getSizes());
}

Value dynamicUpdateSlice(Exporter &e, spmdc::DynamicUpdateSliceOp op) {
  return e.create<DynamicUpdateSliceOp>(Exporter::typeOf(op.getResult()), e.get(op.getOperand()), e.get(op.getUpdate()),
                                        startsOf(e, op.getStarts()));
}

} // namespace

void addMovementExports(ExportRules &rules) {
  rules.add<spmdc::BroadcastInDimOp>(broadcast);
  rules.add<spmdc::ConcatenateOp>(concatenate);
  rules.add<spmdc::ConstantOp>(constant);
  rules.add<spmdc::DynamicSliceOp>(dynamicSlice);
  rules.add<spmdc::DynamicUpdateSliceOp>(dynamicUpdateSlice);
  rules.add<spmdc::IotaOp>(iota);
  rules.add<spmdc::PadOp>(pad);
  rules.add<spmdc::ReshapeOp>(reshape);
  rules.add<spmdc::ReverseOp>(reverse);
  rules.add<spmdc::SliceOp>(slice);
  rules.add<spmdc::TransposeOp>(transpose);
}

} // namespace spmdc::stablehlo
