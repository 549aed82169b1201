//===- TranslateLapack.cpp - calls of LAPACK and cuSOLVER -----------------===//
//
// JAX exports calls of LAPACK for CPUs, and of cuSOLVER for GPUs (jax/_src/lax/linalg.py). A call's parameters are
// LAPACK's letters, as numbers of characters; cuSOLVER's are bools.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/CustomCalls.h"
#include "frontend/stablehlo/complex/Expander.h"
#include "frontend/stablehlo/linear/Operands.h"

#include "ir/interfaces/Tensor.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// A call, with the arrays that it takes: each of them is an operand of the source, real or complex. The first one is
/// matrices.
struct Call {
  Translation &t;
  CustomCallOp op;
  Matrices operands;
  const Matrix &matrix() const { return operands.front(); }
};
using CallResults = FailureOr<Matrices>;

/// Which of the operands (results) are complex: one flag for each of them in the source.
SmallVector<bool> complexFlags(CustomCallOp op, StringRef name, size_t count) {
  auto flags = op->getAttrOfType<DenseBoolArrayAttr>(name);
  return flags ? SmallVector<bool>(flags.asArrayRef()) : SmallVector<bool>(count, false);
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

//===- Parameters ---------------------------------------------------------===//

DictionaryAttr configOf(CustomCallOp op) { return op->getAttrOfType<DictionaryAttr>("mhlo.backend_config"); }

/// The letter of a parameter, in upper case; 0 if the call lacks it.
char letterOf(CustomCallOp op, StringRef name) {
  auto number = configOf(op) ? configOf(op).getAs<IntegerAttr>(name) : IntegerAttr();
  return number ? llvm::toUpper(static_cast<char>(number.getValue().getZExtValue())) : 0;
}

/// A bool; nullopt if the call lacks it.
std::optional<bool> flagOf(CustomCallOp op, StringRef name) {
  auto flag = configOf(op) ? configOf(op).getAs<BoolAttr>(name) : BoolAttr();
  return flag ? std::optional(flag.getValue()) : std::nullopt;
}

/// The triangle that a call reads: `uplo` of LAPACK, `lower` of cuSOLVER.
bool readsLower(CustomCallOp op) { return flagOf(op, "lower").value_or(letterOf(op, "uplo") != 'U'); }

/// Zero for each matrix: the iterations always end.
Matrix noFailure(const Call &call) {
  Translation &t = call.t;
  return {t, t.splat(ArrayType::get(call.matrix().shape().drop_back(2), t.b.getI32Type()), 0)};
}

CallResults refuseShape(const Call &call) { return refuse(call.op, "factors a matrix that is not square"); }

//===- Routines -----------------------------------------------------------===//

CallResults potrf(const Call &call) {
  if (!isSquare(call.matrix()))
    return refuseShape(call);
  Factor factor = choleskyOf(call.matrix(), readsLower(call.op));
  return Matrices{factor.matrix, numbersOf(factor.info)};
}

CallResults trsm(const Call &call) {
  char change = letterOf(call.op, "trans_x");
  Triangle triangle{letterOf(call.op, "uplo") != 'U', change != 'N', letterOf(call.op, "diag") == 'U', change == 'C'};
  FailureOr<Matrix> result = solveTriangularSystem(call.op, call.operands, triangle, letterOf(call.op, "side") != 'R');
  if (failed(result))
    return failure();
  return Matrices{*result};
}

CallResults getrf(const Call &call) {
  PivotedFactor factor = lu(call.matrix());
  return Matrices{factor.matrix, vectorsOf(factor.pivots + 1), numbersOf(factor.info)};
}

CallResults geqrf(const Call &call) {
  Reflectors reflectors = qr(call.matrix());
  return Matrices{reflectors.matrix, vectorsOf(reflectors.taus)};
}

CallResults orgqr(const Call &call) {
  const Matrix &a = call.matrix();
  Matrix taus = columnOf(call.operands[1]);
  if (taus.shape().drop_back(2) != a.shape().drop_back(2) || taus.rows() > a.columns() || a.columns() > a.rows())
    return refuse(call.op, "has more reflections than columns, or more columns than rows");
  return Matrices{multiplyReflectors(a, taus)};
}

CallResults syevd(const Call &call) {
  if (!isSquare(call.matrix()))
    return refuseShape(call);
  Eigen parts = eigen(readsLower(call.op) ? call.matrix() : call.matrix().adjoint());
  return Matrices{parts.vectors, vectorsOf(parts.values), noFailure(call)};
}

/// The parts in the types of U and of V^H or V. Without U and V, only the types say whether they are square.
Singular singularOf(const Call &call) {
  const Matrix &a = call.matrix();
  // Complex ones are two results each, the first result too.
  size_t first = a.isComplex() ? 3 : 2, second = a.isComplex() ? 5 : 3;
  CustomCallOp op = call.op;
  ArrayRef<int64_t> left = Translation::typeOf(op.getResult(first).getType()).getShape(),
                    right = Translation::typeOf(op.getResult(second).getType()).getShape();
  int64_t size = std::min(a.rows(), a.columns());
  bool isFull = left.size() == a.rank() && right.size() == a.rank() &&
                (left.back() > size || std::min(right.back(), right[a.rank() - 2]) > size);
  return singular(a, isFull);
}

CallResults gesdd(const Call &call) {
  Singular parts = singularOf(call);
  return Matrices{call.matrix(), vectorsOf(parts.values), parts.left, parts.right, noFailure(call)};
}

/// With V in the place of V^H.
CallResults gesvdj(const Call &call) {
  Singular parts = singularOf(call);
  return Matrices{call.matrix(), vectorsOf(parts.values), parts.left, parts.right.adjoint(), noFailure(call)};
}

struct Routine {
  StringRef name;
  size_t operands, results;
  CallResults (*translate)(const Call &);
};

constexpr Routine kRoutines[] = {
    {"potrf", 1, 2, potrf}, {"trsm", 2, 1, trsm},   {"getrf", 1, 3, getrf},   {"geqrf", 1, 2, geqrf},
    {"orgqr", 2, 1, orgqr}, {"ungqr", 2, 1, orgqr}, {"syevd", 1, 3, syevd},   {"heevd", 1, 3, syevd},
    {"gesdd", 1, 5, gesdd}, {"gesvd", 1, 5, gesdd}, {"gesvdj", 1, 5, gesvdj}, {"gesvdp", 1, 5, gesvdj},
};

/// The routine of `lapack_spotrf_ffi` or `cusolver_potrf_ffi`; null if there is no translation.
const Routine *findRoutine(StringRef target) {
  if (!target.consume_back("_ffi"))
    return nullptr;
  if (target.consume_front("lapack_") && !target.empty() && StringRef("sdcz").contains(target.front()))
    target = target.drop_front();
  else if (!target.consume_front("cusolver_"))
    return nullptr;
  const auto *found = llvm::find_if(kRoutines, [&](const Routine &routine) { return routine.name == target; });
  return found == std::end(kRoutines) ? nullptr : found;
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
  const Routine *routine = findRoutine(op.getCallTargetName());
  if (!routine)
    return std::nullopt;
  Call call{t, op, operandsOf(t, op)};
  SmallVector<bool> areComplex = complexFlags(op, kComplexResultsAttrName, op.getNumResults());
  if (call.operands.size() != routine->operands || areComplex.size() != routine->results)
    return refuse(op, "calls '" + op.getCallTargetName() + "' with " + Twine(call.operands.size()) + " operands and " +
                          Twine(areComplex.size()) + " results");
  FailureOr<Matrices> matrices = matricesOf(op, {call.matrix()});
  if (failed(matrices))
    return failure();
  if (elementCount(call.matrix().shape()) == 0)
    return llvm::map_to_vector(op.getResults(), [&](Value result) { return t.splat(t.typeOf(result.getType()), 0); });
  call.operands.front() = matrices->front();
  CallResults results = routine->translate(call);
  if (failed(results))
    return failure();
  SmallVector<Value> values;
  for (auto [result, isComplex] : llvm::zip_equal(*results, areComplex)) {
    values.push_back(result.get());
    if (isComplex)
      values.push_back(result.im().get());
  }
  return values;
}

} // namespace spmdc::stablehlo
