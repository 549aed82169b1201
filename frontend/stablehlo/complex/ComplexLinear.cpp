//===- ComplexLinear.cpp - factorizations of complex matrices -------------===//
//
// StableHLO's operations as the calls of LAPACK that compute the same, which take several arrays.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/complex/Expander.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

using Results = Expander::Results;
using Letters = SmallVector<std::pair<StringRef, char>>;

/// A call with the parameters of a routine (TranslateLapack.cpp), whose first result is that of the operation.
Results callRoutine(Expander &e, Operation *op, StringRef target, const Letters &letters, ArrayRef<Type> moreResults) {
  if (!haveComplexValues(op))
    return refuseMixed(op);
  OperationState state(e.loc, CustomCallOp::getOperationName());
  SmallVector<bool> areComplex(op->getNumOperands(), true), areComplexResults(1 + moreResults.size(), false);
  areComplexResults.front() = true;
  for (Value operand : op->getOperands()) {
    auto [re, im] = e.get(operand);
    state.addOperands({re, im});
  }
  Type part = partOf(op->getResult(0).getType());
  state.addTypes({part, part});
  state.addTypes(moreResults);
  SmallVector<NamedAttribute> config;
  for (auto [name, letter] : letters)
    config.push_back(e.b.getNamedAttr(name, e.b.getIntegerAttr(e.b.getIntegerType(8, /*isSigned=*/false), letter)));
  state.addAttribute("call_target_name", e.b.getStringAttr(target));
  state.addAttribute("mhlo.backend_config", e.b.getDictionaryAttr(config));
  state.addAttribute(kComplexOperandsAttrName, e.b.getDenseBoolArrayAttr(areComplex));
  state.addAttribute(kComplexResultsAttrName, e.b.getDenseBoolArrayAttr(areComplexResults));
  Operation *call = e.b.create(state);
  return SmallVector<Parts>{{call->getResult(0), call->getResult(1)}};
}

Results cholesky(Expander &e, Operation *op) {
  ArrayRef<int64_t> shape = llvm::cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  Type info = RankedTensorType::get(shape.drop_back(std::min<size_t>(2, shape.size())), e.b.getI32Type());
  char triangle = cast<CholeskyOp>(op).getLower() ? 'L' : 'U';
  return callRoutine(e, op, "lapack_cpotrf_ffi", {{"uplo", triangle}}, info);
}

Results triangularSolve(Expander &e, Operation *source) {
  auto op = cast<TriangularSolveOp>(source);
  StringRef change = op.getTransposeA().getValue();
  return callRoutine(e, op, "lapack_ctrsm_ffi",
                     {{"side", op.getLeftSide() ? 'L' : 'R'},
                      {"uplo", op.getLower() ? 'L' : 'U'},
                      {"trans_x", change == "ADJOINT"     ? 'C'
                                  : change == "TRANSPOSE" ? 'T'
                                                          : 'N'},
                      {"diag", op.getUnitDiagonal() ? 'U' : 'N'}},
                     {});
}

} // namespace

void addLinearRules(ComplexRules &rules) {
  rules[CholeskyOp::getOperationName()] = cholesky;
  rules[TriangularSolveOp::getOperationName()] = triangularSolve;
}

} // namespace spmdc::stablehlo
