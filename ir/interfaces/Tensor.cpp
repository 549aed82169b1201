//===- Tensor.cpp - an array value of the reference evaluators ------------===//

#include "ir/interfaces/Tensor.h"

#include "mlir/IR/BuiltinTypes.h"

namespace spmdc {

int64_t elementCount(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

bool nextIndex(llvm::MutableArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d])
      return true;
    index[d] = 0;
  }
  return false;
}

Tensor::Tensor(llvm::ArrayRef<int64_t> shape, mlir::Type elementType, Scalar fill)
    : shape(shape), elementType(elementType), elements(elementCount(shape), fill) {}

int64_t Tensor::offsetOf(llvm::ArrayRef<int64_t> index) const {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    offset = offset * shape[d] + index[d];
  return offset;
}

Tensor Tensor::fromAttr(mlir::DenseElementsAttr attr) {
  auto type = llvm::cast<mlir::RankedTensorType>(attr.getType());
  Tensor result(type.getShape(), type.getElementType());
  size_t next = 0;
  if (llvm::isa<mlir::FloatType>(type.getElementType())) {
    for (llvm::APFloat value : attr.getValues<llvm::APFloat>()) {
      bool losesInfo;
      value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      result.elements[next++] = Scalar::ofFloat(value.convertToDouble());
    }
    return result;
  }
  bool isSigned = !type.getElementType().isUnsignedInteger() && !type.getElementType().isInteger(1);
  for (llvm::APInt value : attr.getValues<llvm::APInt>())
    result.elements[next++] = Scalar::ofInt(isSigned ? value.getSExtValue() : value.getZExtValue());
  return result;
}

mlir::DenseElementsAttr Tensor::toAttr() const {
  auto type = mlir::RankedTensorType::get(shape, elementType);
  if (auto floatType = llvm::dyn_cast<mlir::FloatType>(elementType)) {
    std::vector<llvm::APFloat> values;
    for (Scalar element : elements) {
      llvm::APFloat value(element.f);
      bool losesInfo;
      value.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      values.push_back(value);
    }
    return mlir::DenseElementsAttr::get(type, values);
  }
  std::vector<llvm::APInt> values;
  unsigned width = elementType.getIntOrFloatBitWidth();
  for (Scalar element : elements)
    values.emplace_back(width, static_cast<uint64_t>(element.i), /*isSigned=*/false);
  return mlir::DenseElementsAttr::get(type, values);
}

} // namespace spmdc
