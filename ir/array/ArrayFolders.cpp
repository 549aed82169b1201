//===- ArrayFolders.cpp - folders of array operations ---------------------===//

#include "ir/array/ArrayOps.h"

using namespace mlir;

namespace spmdc {

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

/// The operand, if the operation changes nothing (its type, sharding included, is the result's).
static OpFoldResult foldIdentity(Value operand, ArrayType result, bool isIdentity) {
  return isIdentity && operand.getType() == result ? OpFoldResult(operand) : OpFoldResult();
}

static bool isIota(ArrayRef<int64_t> dims) {
  for (auto [index, dim] : llvm::enumerate(dims))
    if (dim != static_cast<int64_t>(index))
      return false;
  return true;
}

OpFoldResult BroadcastInDimOp::fold(FoldAdaptor adaptor) {
  // Only splats without sharding fold: those with a sharding are left to partitioning.
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getOperand()))
    return splat.resizeSplat(getType().getTensorType());
  return foldIdentity(getOperand(), getType(), isIota(getDims()));
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (auto value = dyn_cast_if_present<DenseElementsAttr>(adaptor.getOperand()))
    return value.reshape(getType().getTensorType());
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>();
      inner && !getType().getSharding() && !inner.getType().getSharding()) {
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  return foldIdentity(getOperand(), getType(), true);
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getOperand()))
    return splat.resizeSplat(getType().getTensorType());
  if (auto inner = getOperand().getDefiningOp<TransposeOp>(); inner && !inner.getType().getSharding()) {
    auto composed = llvm::map_to_vector(getPerm(), [&](int64_t dim) { return inner.getPerm()[dim]; });
    if (OpFoldResult same = foldIdentity(inner.getOperand(), getType(), isIota(composed)))
      return same;
  }
  return foldIdentity(getOperand(), getType(), isIota(getPerm()));
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getOperand()))
    return splat.resizeSplat(getType().getTensorType());
  bool coversDim = getOperand().getType().getShape() == getType().getShape();
  return foldIdentity(getOperand(), getType(), coversDim);
}

OpFoldResult ReduceOp::fold(FoldAdaptor) { return foldIdentity(getOperand(), getType(), getDims().empty()); }

OpFoldResult ConvertOp::fold(FoldAdaptor adaptor) {
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getOperand())) {
    Type from = getOperand().getType().getElementType(), to = getType().getElementType();
    Tensor scalar = Tensor::fromAttr(splat.resizeSplat(RankedTensorType::get({}, from)));
    scalar.elements[0] = convertScalar(scalar.elements[0], from, to);
    scalar.elementType = to;
    return scalar.toAttr().resizeSplat(getType().getTensorType());
  }
  return foldIdentity(getOperand(), getType(), true);
}

} // namespace spmdc
