//===- GradientOps.cpp - verifiers of differentiation ---------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/spmd/DefinitionNotes.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Verifies that the body yields arrays of these types, up to shardings.
LogicalResult verifyYield(Operation *op, Block &body, TypeRange types) {
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return op->emitOpError("body must end in array.yield");
  if (yield.getNumOperands() != types.size())
    return op->emitOpError() << "yields " << yield.getNumOperands() << " values for " << types.size() << " results";
  for (auto [index, value, type] : llvm::enumerate(yield.getOperands(), types)) {
    auto actual = cast<ArrayType>(value.getType()).withoutSharding(), expected = cast<ArrayType>(type);
    if (actual != expected.withoutSharding())
      return failWithDefinitions(op->emitOpError() << "result " << index << " is " << expected.str() << ", but "
                                                   << actual.str() << " is yielded",
                                 {{value, "the yielded value"}});
  }
  return success();
}

} // namespace

LogicalResult GradientOp::verify() {
  Block &body = getBody().front();
  if (getOperands().empty())
    return emitOpError("requires at least one argument to differentiate by");
  if (body.getNumArguments() != getOperands().size() || getNumResults() <= getOperands().size())
    return emitOpError() << "has " << getOperands().size()
                         << " operands; it requires as many arguments, and returns what "
                         << "the body yields and as many gradients";
  for (auto [index, operand, argument, gradient] :
       llvm::enumerate(getOperands(), body.getArguments(), getGradients())) {
    ArrayType type = cast<ArrayType>(operand.getType()).withoutSharding();
    if (!isa<FloatType>(type.getElementType()))
      return emitOpError() << "operand " << index << " is " << type.str() << "; only floats have gradients";
    for (Value other : {Value(argument), Value(gradient)})
      if (cast<ArrayType>(other.getType()).withoutSharding() != type)
        return failWithDefinitions(emitOpError()
                                       << "operand " << index << " is " << type.str() << ", its argument or gradient "
                                       << cast<ArrayType>(other.getType()).str(),
                                   {{operand, "the operand"}, {other, "the other"}});
  }
  if (failed(verifyYield(*this, body, TypeRange(getResultTypes()).drop_back(getOperands().size()))))
    return failure();
  auto value = cast<ArrayType>(getYielded().front().getType());
  if (value.getRank() != 0 || !isa<FloatType>(value.getElementType()))
    return emitOpError() << "requires a float scalar as its first value, got " << value.str();
  return success();
}

LogicalResult CheckpointOp::verify() {
  if (getBody().getNumArguments() != 0)
    return emitOpError("body must not take arguments: it uses values from outside");
  return verifyYield(*this, getBody().front(), getResultTypes());
}

} // namespace spmdc
