//===- TranslateLapack.cpp - calls of LAPACK and cuSOLVER -----------------===//
//
// JAX exports calls of LAPACK for CPUs, and of cuSOLVER for GPUs (jax/_src/lax/linalg.py).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/CustomCalls.h"
#include "frontend/stablehlo/LapackRoutines.h"
#include "frontend/stablehlo/complex/Expander.h"

#include "ir/interfaces/Tensor.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Which of the operands (results) are complex: one flag for each of them in the source. `count`: of the arrays.
SmallVector<bool> complexFlags(CustomCallOp op, StringRef name, size_t count) {
  auto flags = op->getAttrOfType<DenseBoolArrayAttr>(name);
  // The attribute may be one of the text's.
  if (!flags || flags.size() + static_cast<size_t>(llvm::count(flags.asArrayRef(), true)) != count)
    return SmallVector<bool>(count, false);
  return SmallVector<bool>(flags.asArrayRef());
}

Matrices operandsOf(Translation &t, CustomCallOp op) {
  Matrices operands;
  SmallVector<Value> values = t.get(op.getInputs());
  size_t next = 0;
  for (bool isComplex : complexFlags(op, kComplexOperandsAttrName, values.size())) {
    Value re = values[next++];
    operands.push_back({t, re, isComplex ? values[next++] : Value()});
  }
  return operands;
}

/// The routine of `lapack_spotrf_ffi`, `cusolver_potrf_ffi` or `cuhybrid_eig_real`; null if there is no translation.
const Routine *findCalled(StringRef target) {
  if (!target.consume_front("cuhybrid_")) {
    if (!target.consume_back("_ffi"))
      return nullptr;
    if (target.consume_front("lapack_") && !target.empty() && StringRef("sdcz").contains(target.front()))
      target = target.drop_front();
    else if (!target.consume_front("cusolver_") && !target.consume_front("cusparse_"))
      return nullptr;
  }
  return findRoutine(target);
}

/// The order of rows after exchanges with rows that are counted from 0 (JAX's own kernel for GPUs).
Results permutationOf(Translation &t, CustomCallOp op) {
  ArrayRef<int64_t> shape = Translation::typeOf(op.getResult(0).getType()).getShape();
  Value pivots = t.get(op.getInputs()[0]);
  bool isAlike = !shape.empty() && shapeOf(pivots).size() == shape.size() && shapeOf(pivots).back() <= shape.back() &&
                 shapeOf(pivots).drop_back() == shape.drop_back() &&
                 Translation::typeOf(pivots).getElementType().isInteger(32);
  if (!isAlike)
    return refuse(op, "has other pivots than an i32 for each row, or for the first rows");
  return SmallVector<Value>{vectorsOf(exchangedRows(columnOf({t, pivots}), shape.back())).get()};
}

} // namespace

std::optional<Results> translateLapack(Translation &t, CustomCallOp op) {
  if (op.getCallTargetName() == "cu_lu_pivots_to_permutation" && op.getNumOperands() == 1 && op.getNumResults() == 1)
    return permutationOf(t, op);
  const Routine *routine = findCalled(op.getCallTargetName());
  if (!routine)
    return std::nullopt;
  Call call{t, op, operandsOf(t, op), complexFlags(op, kComplexResultsAttrName, op.getNumResults()), routine->matrix};
  ArrayRef<bool> areComplex = call.areComplex;
  size_t left = routine->hasValues && call.operands.size() == 1 && call.matrix().isComplex() ? 1 : 0;
  if (call.operands.size() != routine->operands || areComplex.size() != routine->results - left)
    return refuse(op, "calls '" + op.getCallTargetName() + "' with " + Twine(call.operands.size()) + " operands and " +
                          Twine(areComplex.size()) + " results");
  auto isOther = [&](const Matrix &operand) {
    return llvm::isa<FloatType>(operand.elementType()) && operand.isComplex() != call.matrix().isComplex();
  };
  if (llvm::any_of(call.operands, isOther))
    return refuseMixed(op);
  FailureOr<Matrices> matrices = matricesOf(op, {call.matrix()});
  if (failed(matrices))
    return failure();
  if (elementCount(call.matrix().shape()) == 0)
    return llvm::map_to_vector(op.getResults(), [&](Value result) { return t.splat(t.typeOf(result.getType()), 0); });
  call.operands[routine->matrix] = inFasterOrder(matrices->front(), routine->mostInLanes);
  CallResults results = routine->translate(call);
  if (failed(results))
    return failure();
  SmallVector<Value> values;
  for (auto [inAnyOrder, isComplex] : llvm::zip_equal(*results, areComplex)) {
    Matrix result = withBatchFirst(inAnyOrder);
    if (result.isComplex() && !isComplex)
      return refuseMixed(op);
    values.push_back(result.get());
    if (isComplex)
      values.push_back(result.im().get());
  }
  return values;
}

} // namespace spmdc::stablehlo
