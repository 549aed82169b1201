//===- ElementTypes.cpp - element types of array operations ---------------===//
//
// One list for all element-wise operations. Scalar code is generated from each of these operations: without this check,
// only LLVM's verifier would find an element type that an operation does not support, and it names neither the
// operation nor the program's line.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/array/Verification.h"
#include "ir/spmd/DefinitionNotes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {

/// The element types that the first operand must have instead of this one, in words; null if this one is supported.
static const char *neededElements(Operation *op, Type element) {
  bool isFloat = isa<FloatType>(element), isBool = element.isInteger(1);
  return TypeSwitch<Operation *, const char *>(op)
      .Case<ExpOp, Exp2Op, Expm1Op, LogOp, Log1pOp, Log2Op, SqrtOp, RsqrtOp, CbrtOp, SinOp, CosOp, TanOp, TanhOp,
            SinhOp, CoshOp, AsinOp, AcosOp, AtanOp, FloorOp, CeilOp, RoundNearestEvenOp, ErfOp, ErfInvOp, LogisticOp,
            Atan2Op, IsFiniteOp>([&](Operation *) { return isFloat ? nullptr : "floats"; })
      .Case<NotOp, PopcntOp, AndOp, OrOp, XorOp>([&](Operation *) { return isFloat ? "integers or bools" : nullptr; })
      .Case<ShiftLeftOp, ShiftRightArithmeticOp, ShiftRightLogicalOp>(
          [&](Operation *) { return isFloat || isBool ? "integers" : nullptr; })
      .Case<SelectOp>([&](Operation *) { return isBool ? nullptr : "bools"; })
      .Default([](Operation *) { return nullptr; });
}

LogicalResult verifyElementTypes(Operation *op) {
  ArrayType first = typeOf(op->getOperand(0)), result = typeOf(op->getResult(0));
  Type from = first.getElementType(), to = result.getElementType();
  if (const char *expected = neededElements(op, from))
    return op->emitOpError() << "requires " << expected << ", got " << first.withoutSharding().str();
  auto sameAs = [&](Value like, ValueRange operands) -> LogicalResult {
    for (Value operand : operands)
      if (typeOf(operand).getElementType() != typeOf(like).getElementType())
        return failWithDefinitions(op->emitOpError()
                                       << "requires one element type, got " << typeOf(like).withoutSharding().str()
                                       << " and " << typeOf(operand).withoutSharding().str(),
                                   {{like, "the first"}, {operand, "the second"}});
    return success();
  };
  if (isa<IsFiniteOp, CompareOp>(op)) {
    if (!to.isInteger(1))
      return op->emitOpError() << "has a bool result, got " << result.withoutSharding().str();
    return sameAs(op->getOperand(0), op->getOperands());
  }
  if (isa<SelectOp>(op))
    return sameAs(op->getResult(0), op->getOperands().drop_front());
  if (isa<BitcastConvertOp>(op)) {
    // A bool has one bit but takes a byte in memory: no other type has its bits.
    auto width = [](Type type) { return type.getIntOrFloatBitWidth(); };
    if (width(from) != width(to))
      return op->emitOpError() << "requires equal widths: " << first.withoutSharding().str() << " has elements of "
                               << width(from) << " bits, " << result.withoutSharding().str() << " of " << width(to);
  }
  return success();
}

} // namespace spmdc
