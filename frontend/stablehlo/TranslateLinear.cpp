//===- TranslateLinear.cpp - factorizations and triangular systems --------===//
//
// StableHLO's operations. Calls of LAPACK, which JAX exports in most places, are in TranslateLapack.cpp.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/Operands.h"

#include "ir/interfaces/Tensor.h"

using namespace mlir;

namespace spmdc::stablehlo {

FailureOr<Matrices> matricesOf(Operation *op, const Matrices &operands) {
  Matrices matrices;
  for (const Matrix &operand : operands) {
    auto type = llvm::dyn_cast<FloatType>(operand.elementType());
    if (!type || operand.rank() < 2)
      return refuse(op, "takes matrices of floats");
    Type wide = operand.translation().b.getF32Type();
    matrices.push_back(withFullMatrices(type.getWidth() < 32 ? operand.converted(wide) : operand));
  }
  ArrayRef<int64_t> batch = matrices.front().shape().drop_back(2);
  if (!llvm::all_of(matrices, [&](const Matrix &matrix) { return matrix.shape().drop_back(2) == batch; }))
    return refuse(op, "has operands of different batches");
  return matrices;
}

Matrix columnOf(const Matrix &vectors) {
  SmallVector<int64_t> shape(vectors.shape());
  shape.push_back(1);
  return withFullMatrices(vectors.reshaped(shape));
}

Matrix vectorsOf(const Matrix &columns) {
  Matrix first = withBatchFirst(columns);
  return first.reshaped(first.shape().drop_back());
}

Matrix numbersOf(const Matrix &matrices) {
  Matrix first = withBatchFirst(matrices);
  return first.reshaped(first.shape().drop_back(2));
}

Factor choleskyOf(const Matrix &a, bool isLower) {
  Matrix own = isLower ? a : a.adjoint();
  Factor factor = cholesky(own);
  Matrix both = select(own.rowNumbers() >= own.columnNumbers(), factor.matrix, own);
  return {isLower ? both : both.adjoint(), factor.info};
}

FailureOr<Matrix> solveTriangularSystem(Operation *op, const Matrices &operands, Triangle triangle, bool isLeft) {
  FailureOr<Matrices> matrices = matricesOf(op, operands);
  if (failed(matrices))
    return failure();
  const Matrix &a = (*matrices)[0], &b = (*matrices)[1];
  if (!isSquare(a) || (isLeft ? b.rows() : b.columns()) != a.rows())
    return refuse(op, "has a matrix that is not square, or of another size than its right sides");
  bool isInLanes = inFasterOrder(a).lanes() > 0;
  Matrix solved = isInLanes ? solveTriangular(withBatchInLanes(a), withBatchInLanes(b), triangle, isLeft)
                            : solveTriangular(a, b, triangle, isLeft);
  return withBatchFirst(solved).converted(operands[1].elementType());
}

namespace {

FailureOr<Value> choleskyOp(Translation &t, CholeskyOp op) {
  FailureOr<Matrices> a = matricesOf(op, {Matrix(t, t.get(op.getA()))});
  if (failed(a))
    return failure();
  if (!isSquare(a->front()))
    return refuse(op, "factors a matrix that is not square");
  if (elementCount(a->front().shape()) == 0)
    return t.get(op.getA());
  return withBatchFirst(choleskyOf(inFasterOrder(a->front()), op.getLower()).matrix)
      .converted(Translation::typeOf(op.getType()).getElementType())
      .get();
}

FailureOr<Value> triangularSolve(Translation &t, TriangularSolveOp op) {
  Triangle triangle{op.getLower(), op.getTransposeA().getValue() != "NO_TRANSPOSE", op.getUnitDiagonal()};
  FailureOr<Matrix> result =
      solveTriangularSystem(op, {Matrix(t, t.get(op.getA())), Matrix(t, t.get(op.getB()))}, triangle, op.getLeftSide());
  if (failed(result))
    return failure();
  return result->get();
}

} // namespace

void addLinearRules(Rules &rules) {
  rules.add<CholeskyOp>(choleskyOp);
  rules.add<TriangularSolveOp>(triangularSolve);
}

} // namespace spmdc::stablehlo
