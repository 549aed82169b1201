//===- OpEvaluator.cpp - reference evaluation of one operation ------------===//

#include "ir/evaluate/OpEvaluator.h"

#include "ir/interfaces/OpInterfaces.h"

using namespace mlir;

namespace spmdc {

static Tensor evaluateElementwise(ElementwiseOpInterface op, ArrayType type, ArrayRef<Tensor> operands) {
  Tensor result(type.getShape(), type.getElementType());
  SmallVector<Scalar, 3> elements(operands.size());
  for (int64_t i = 0; i < result.size(); ++i) {
    for (auto [element, operand] : llvm::zip(elements, operands))
      element = operand.elements[i];
    result.elements[i] = roundTo(op.evaluateScalar(elements), type.getElementType());
  }
  return result;
}

FailureOr<Tensor> evaluateArrayOp(Operation *op, ArrayRef<Tensor> operands) {
  auto type = op->getNumResults() == 1 ? dyn_cast<ArrayType>(op->getResult(0).getType()) : ArrayType();
  if (!type)
    return op->emitError() << "'" << op->getName() << "' has no reference evaluation";
  for (auto [index, operand] : llvm::enumerate(operands)) {
    auto expected = cast<ArrayType>(op->getOperand(index).getType());
    if (ArrayRef<int64_t>(operand.shape) != expected.getShape() || operand.elementType != expected.getElementType())
      return op->emitError() << "the value of operand " << index << " is not a " << expected.withoutSharding().str();
  }
  Tensor result;
  if (auto elementwise = dyn_cast<ElementwiseOpInterface>(op))
    result = evaluateElementwise(elementwise, type, operands);
  else if (auto evaluate = dyn_cast<EvaluateOpInterface>(op))
    result = evaluate.evaluate(operands);
  else
    return op->emitError() << "'" << op->getName() << "' has no reference evaluation";
  if (ArrayRef<int64_t>(result.shape) != type.getShape() || result.elementType != type.getElementType())
    return op->emitError() << "evaluates to a value that does not have its type " << type.withoutSharding().str();
  return result;
}

} // namespace spmdc
