//===- TranslateContraction.cpp - products --------------------------------===//

#include "frontend/stablehlo/Translation.h"

#include "ir/interfaces/Tensor.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

/// Whether the dimensions of both lists are different ones of the array.
bool areDistinctDims(ArrayRef<int64_t> batch, ArrayRef<int64_t> contract, size_t rank) {
  SmallVector<int64_t> all(batch);
  llvm::append_range(all, contract);
  return areDims(all, static_cast<int64_t>(rank));
}

/// The operand in a type whose products are exact in the result's: bf16 and f16 stay, for a result of f32.
Value widen(Translation &t, Value x, Value other, Type result) {
  Type type = typeOf(x).getElementType();
  bool isNative = type == result || (llvm::isa<FloatType>(type) && type == typeOf(other).getElementType() &&
                                     type.getIntOrFloatBitWidth() == 16 && result.isF32());
  return isNative ? x : t.convert(x, result);
}

One dotGeneral(Translation &t, DotGeneralOp op) {
  Value lhs = t.get(op.getLhs()), rhs = t.get(op.getRhs());
  ArrayRef<int64_t> lhsContract = op.getLhsContractingDimensions(), rhsContract = op.getRhsContractingDimensions();
  ArrayRef<int64_t> lhsBatch = op.getLhsBatchingDimensions(), rhsBatch = op.getRhsBatchingDimensions();
  if (lhsContract.size() != rhsContract.size() || lhsBatch.size() != rhsBatch.size() ||
      !areDistinctDims(lhsBatch, lhsContract, shapeOf(lhs).size()) ||
      !areDistinctDims(rhsBatch, rhsContract, shapeOf(rhs).size()))
    return refuse(op, "names other dimensions than its operands have");
  for (auto [lhsDims, rhsDims] : {std::pair(lhsContract, rhsContract), std::pair(lhsBatch, rhsBatch)})
    for (auto [left, right] : llvm::zip_equal(lhsDims, rhsDims))
      if (shapeOf(lhs)[left] != shapeOf(rhs)[right])
        return refuse(op, "pairs dimensions of " + Twine(shapeOf(lhs)[left]) + " and " + Twine(shapeOf(rhs)[right]) +
                              " elements");
  return product(t, lhs, rhs, Translation::typeOf(op.getType()).getElementType(), lhsContract, rhsContract, lhsBatch,
                 rhsBatch);
}

} // namespace

Value product(Translation &t, Value lhs, Value rhs, Type element, ArrayRef<int64_t> lhsContract,
              ArrayRef<int64_t> rhsContract, ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch) {
  // Products of bools are counted by StableHLO as `or` of `and`; as i32 sums they are positive exactly then.
  if (element.isInteger(1)) {
    Type integer = t.b.getI32Type();
    Value sum = product(t, t.convert(lhs, integer), t.convert(rhs, integer), integer, lhsContract, rhsContract,
                        lhsBatch, rhsBatch);
    return t.convert(sum, element);
  }
  Value x = widen(t, lhs, rhs, element), y = widen(t, rhs, lhs, element);
  SmallVector<int64_t> shape =
      spmdc::DotGeneralOp::inferShape(plainTypeOf(x), plainTypeOf(y), lhsContract, rhsContract, lhsBatch, rhsBatch);
  return t.create<spmdc::DotGeneralOp>(ArrayType::get(shape, element), x, y, lhsContract, rhsContract, lhsBatch,
                                       rhsBatch);
}

void addContractionRules(Rules &rules) { rules.add<DotGeneralOp>(dotGeneral); }

} // namespace spmdc::stablehlo
