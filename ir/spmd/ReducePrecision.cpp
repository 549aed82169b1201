//===- ReducePrecision.cpp - the element type of partial sums -------------===//

#include "ir/spmd/ReducePrecision.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace spmdc {

void setReducePrecision(Operation *module, spmd::DType dtype) {
  if (dtype == spmd::DType::F32)
    module->removeAttr(kReducePrecisionAttrName);
  else
    module->setAttr(kReducePrecisionAttrName, TypeAttr::get(getElementType(module->getContext(), dtype)));
}

Type getPartialSumType(Operation *op, Type elementType) {
  if (!isHalfFloat(elementType))
    return elementType;
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  auto named = module ? module->getAttrOfType<TypeAttr>(kReducePrecisionAttrName) : TypeAttr();
  return named && named.getValue() == elementType ? elementType : Float32Type::get(elementType.getContext());
}

bool mayHoldPartialSums(ArrayType partial, Type elementType) {
  bool isPartial = !partial.getShardingOrOpen().getUnreduced().empty();
  return partial.getElementType() == elementType ||
         (isPartial && isHalfFloat(elementType) && partial.getElementType().isF32());
}

} // namespace spmdc
