//===- TranslateLinear.cpp - factorizations and triangular systems --------===//
//
// StableHLO's operations, and the calls of LAPACK that JAX exports for CPUs instead, or of cuSOLVER for GPUs
// (jax/_src/lax/linalg.py). A call's parameters are LAPACK's letters, as numbers of characters; cuSOLVER's are bools.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/CustomCalls.h"
#include "frontend/stablehlo/linear/Factorizations.h"

#include "ir/interfaces/Tensor.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

//===- Operands -----------------------------------------------------------===//

/// The operands as matrices of at least f32; fails with a message if they are not matrices of floats of one batch.
FailureOr<Matrices> matricesOf(Translation &t, Operation *op, ValueRange operands) {
  Matrices matrices;
  for (Value operand : operands) {
    Value array = t.get(operand);
    auto type = llvm::dyn_cast<FloatType>(Translation::typeOf(array).getElementType());
    if (!type || shapeOf(array).size() < 2)
      return refuse(op, "takes matrices of floats");
    matrices.push_back(withFullMatrices(t, type.getWidth() < 32 ? t.convert(array, t.b.getF32Type()) : array));
  }
  ArrayRef<int64_t> batch = matrices.front().shape().drop_back(2);
  if (!llvm::all_of(matrices, [&](const Matrix &matrix) { return matrix.shape().drop_back(2) == batch; }))
    return refuse(op, "has operands of different batches");
  return matrices;
}

/// The array without its last dimensions, which have one element.
Value dropDims(const Matrix &matrix, size_t count) {
  return matrix.translation().reshape(matrix.get(), matrix.shape().drop_back(count));
}

/// A vector for each matrix as a matrix of one column.
Matrix columnOf(Translation &t, Value array) {
  SmallVector<int64_t> shape(shapeOf(array));
  shape.push_back(1);
  return withFullMatrices(t, t.reshape(array, shape));
}

bool isSquare(const Matrix &matrix) { return matrix.rows() == matrix.columns(); }

//===- Operations ---------------------------------------------------------===//

/// Both triangles of `a` where it is not factored, as potrf leaves them.
Factor choleskyOf(const Matrix &a, bool isLower) {
  Matrix own = isLower ? a : a.transposed();
  Factor factor = cholesky(own);
  Matrix both = select(own.rowNumbers() >= own.columnNumbers(), factor.matrix, own);
  return {isLower ? both : both.transposed(), factor.info};
}

One choleskyOp(Translation &t, CholeskyOp op) {
  FailureOr<Matrices> a = matricesOf(t, op, op.getA());
  if (failed(a))
    return failure();
  if (!isSquare(a->front()))
    return refuse(op, "factors a matrix that is not square");
  if (elementCount(a->front().shape()) == 0)
    return t.get(op.getA());
  return choleskyOf(a->front(), op.getLower())
      .matrix.converted(Translation::typeOf(op.getType()).getElementType())
      .get();
}

/// X of op(a) X = b, or of X op(a) = b.
One solveIn(Translation &t, Operation *op, ValueRange operands, Triangle triangle, bool isLeft) {
  FailureOr<Matrices> matrices = matricesOf(t, op, operands);
  if (failed(matrices))
    return failure();
  const Matrix &a = (*matrices)[0], &b = (*matrices)[1];
  if (!isSquare(a) || (isLeft ? b.rows() : b.columns()) != a.rows())
    return refuse(op, "has a matrix that is not square, or of another size than its right sides");
  return solveTriangular(a, b, triangle, isLeft)
      .converted(Translation::typeOf(operands[1].getType()).getElementType())
      .get();
}

One triangularSolve(Translation &t, TriangularSolveOp op) {
  bool isTransposed = op.getTransposeA().getValue() != "NO_TRANSPOSE";
  return solveIn(t, op, op.getOperands(), {op.getLower(), isTransposed, op.getUnitDiagonal()}, op.getLeftSide());
}

//===- Calls of LAPACK ----------------------------------------------------===//

/// The letter of a parameter, in upper case; 0 if the call lacks it.
char letterOf(CustomCallOp op, StringRef name) {
  auto config = op->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  auto number = config ? config.getAs<IntegerAttr>(name) : IntegerAttr();
  return number ? llvm::toUpper(static_cast<char>(number.getValue().getZExtValue())) : 0;
}

/// The triangle that a call reads: `uplo` of LAPACK, `lower` of cuSOLVER.
bool readsLower(CustomCallOp op) {
  auto config = op->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  auto lower = config ? config.getAs<BoolAttr>("lower") : BoolAttr();
  return lower ? lower.getValue() : letterOf(op, "uplo") != 'U';
}

Results potrf(Translation &t, CustomCallOp op, const Matrices &matrices) {
  if (!isSquare(matrices[0]))
    return refuse(op, "factors a matrix that is not square");
  Factor factor = choleskyOf(matrices[0], readsLower(op));
  return SmallVector<Value>{factor.matrix.get(), dropDims(factor.info, 2)};
}

Results trsm(Translation &t, CustomCallOp op, const Matrices &) {
  Triangle triangle{letterOf(op, "uplo") != 'U', letterOf(op, "trans_x") != 'N', letterOf(op, "diag") == 'U'};
  One result = solveIn(t, op, op.getInputs(), triangle, letterOf(op, "side") != 'R');
  if (failed(result))
    return failure();
  return SmallVector<Value>{*result};
}

Results getrf(Translation &, CustomCallOp, const Matrices &matrices) {
  PivotedFactor factor = lu(matrices[0]);
  return SmallVector<Value>{factor.matrix.get(), dropDims(factor.pivots + 1, 1), dropDims(factor.info, 2)};
}

Results geqrf(Translation &, CustomCallOp, const Matrices &matrices) {
  Reflectors reflectors = qr(matrices[0]);
  return SmallVector<Value>{reflectors.matrix.get(), dropDims(reflectors.taus, 1)};
}

Results orgqr(Translation &t, CustomCallOp op, const Matrices &matrices) {
  Matrix taus = columnOf(t, t.get(op.getInputs()[1]));
  if (taus.shape().drop_back(2) != matrices[0].shape().drop_back(2) || taus.rows() > matrices[0].columns() ||
      matrices[0].columns() > matrices[0].rows())
    return refuse(op, "has more reflections than columns, or more columns than rows");
  return SmallVector<Value>{multiplyReflectors(matrices[0], taus).get()};
}

/// Zero for each matrix: the iterations always end.
Value noFailure(Translation &t, const Matrix &matrix) {
  return t.splat(ArrayType::get(matrix.shape().drop_back(2), t.b.getI32Type()), 0);
}

Results syevd(Translation &t, CustomCallOp op, const Matrices &matrices) {
  if (!isSquare(matrices[0]))
    return refuse(op, "factors a matrix that is not square");
  Eigen parts = eigen(readsLower(op) ? matrices[0] : matrices[0].transposed());
  return SmallVector<Value>{parts.vectors.get(), dropDims(parts.values, 1), noFailure(t, matrices[0])};
}

/// The parts in the types of U and of V^T or V. Without U and V, only the types say whether they are square.
Singular singularOf(CustomCallOp op, const Matrix &a) {
  ArrayRef<int64_t> left = Translation::typeOf(op.getResult(2).getType()).getShape(),
                    right = Translation::typeOf(op.getResult(3).getType()).getShape();
  int64_t size = std::min(a.rows(), a.columns());
  bool isFull = left.size() == a.rank() && right.size() == a.rank() &&
                (left.back() > size || std::min(right.back(), right[a.rank() - 2]) > size);
  return singular(a, isFull);
}

Results gesdd(Translation &t, CustomCallOp op, const Matrices &matrices) {
  Singular parts = singularOf(op, matrices[0]);
  return SmallVector<Value>{matrices[0].get(), dropDims(parts.values, 1), parts.left.get(), parts.right.get(),
                            noFailure(t, matrices[0])};
}

/// With V in the place of V^T.
Results gesvdj(Translation &t, CustomCallOp op, const Matrices &matrices) {
  Singular parts = singularOf(op, matrices[0]);
  return SmallVector<Value>{matrices[0].get(), dropDims(parts.values, 1), parts.left.get(),
                            parts.right.transposed().get(), noFailure(t, matrices[0])};
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
  return SmallVector<Value>{dropDims(exchangedRows(columnOf(t, pivots), shape.back()), 1)};
}

struct Routine {
  StringRef name;
  size_t operands, results;
  /// The first operand, as a matrix.
  Results (*translate)(Translation &, CustomCallOp, const Matrices &);
};

constexpr Routine kRoutines[] = {
    {"potrf", 1, 2, potrf},   {"trsm", 2, 1, trsm},     {"getrf", 1, 3, getrf}, {"geqrf", 1, 2, geqrf},
    {"orgqr", 2, 1, orgqr},   {"syevd", 1, 3, syevd},   {"gesdd", 1, 5, gesdd}, {"gesvd", 1, 5, gesdd},
    {"gesvdj", 1, 5, gesvdj}, {"gesvdp", 1, 5, gesvdj},
};

/// The routine of `lapack_spotrf_ffi` or `cusolver_potrf_ffi`; null if there is no translation.
const Routine *findRoutine(StringRef target) {
  bool isLapack = target.consume_front("lapack_s") || target.consume_front("lapack_d");
  if (!isLapack && !target.consume_front("cusolver_"))
    return nullptr;
  if (!target.consume_back("_ffi"))
    return nullptr;
  const auto *found = llvm::find_if(kRoutines, [&](const Routine &routine) { return routine.name == target; });
  return found == std::end(kRoutines) ? nullptr : found;
}

} // namespace

std::optional<Results> translateLapack(Translation &t, CustomCallOp op) {
  if (op.getCallTargetName() == "cu_lu_pivots_to_permutation" && op.getNumOperands() == 1 && op.getNumResults() == 1)
    return permutationOf(t, op);
  const Routine *routine = findRoutine(op.getCallTargetName());
  if (!routine)
    return std::nullopt;
  if (op.getNumOperands() != routine->operands || op.getNumResults() != routine->results)
    return refuse(op, "calls '" + op.getCallTargetName() + "' with " + Twine(op.getNumOperands()) + " operands and " +
                          Twine(op.getNumResults()) + " results");
  FailureOr<Matrices> matrices = matricesOf(t, op, op.getInputs().take_front(1));
  if (failed(matrices))
    return failure();
  if (elementCount(matrices->front().shape()) == 0)
    return llvm::map_to_vector(op.getResults(), [&](Value result) { return t.splat(t.typeOf(result.getType()), 0); });
  return routine->translate(t, op, *matrices);
}

void addLinearRules(Rules &rules) {
  rules.add<CholeskyOp>(choleskyOp);
  rules.add<TriangularSolveOp>(triangularSolve);
}

} // namespace spmdc::stablehlo
