//===- LapackRoutines.cpp - routines of LAPACK ----------------------------===//
//
// A call's parameters are LAPACK's letters, as numbers of characters; cuSOLVER's are bools.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/LapackRoutines.h"
#include "frontend/stablehlo/linear/Balance.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

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
  return {t, t.splat(ArrayType::get(call.matrix().batch(), t.b.getI32Type()), 0)};
}

/// Whether the program uses a result; of a complex one, which is two arrays, either of them.
bool isUsed(const Call &call, size_t number) {
  CustomCallOp op = call.op;
  auto before = static_cast<size_t>(llvm::count(ArrayRef(call.areComplex).take_front(number), true));
  return !op.getResult(number + before).use_empty() ||
         (call.areComplex[number] && !op.getResult(number + before + 1).use_empty());
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
  if (taus.batch() != a.batch() || taus.rows() > a.columns() || a.columns() > a.rows())
    return refuse(call.op, "has more reflections than columns, or more columns than rows");
  if (a.lanes() > 0)
    taus = withBatchInLanes(taus);
  return Matrices{multiplyReflectors(a, taus)};
}

CallResults syevd(const Call &call) {
  if (!isSquare(call.matrix()))
    return refuseShape(call);
  // JAX asks for eigenvectors always, and does not use them for `eigvalsh`.
  Eigen parts = eigen(readsLower(call.op) ? call.matrix() : call.matrix().adjoint(), isUsed(call, 0));
  return Matrices{parts.vectors.value_or(call.matrix()), vectorsOf(parts.values), noFailure(call)};
}

/// The parts in the types of U and of V^H or V. Without U and V, only the types say whether they are square.
Singular singularOf(const Call &call) {
  const Matrix &a = call.matrix();
  auto shapeOfResult = [&](size_t number) {
    CustomCallOp op = call.op;
    auto before = static_cast<size_t>(llvm::count(ArrayRef(call.areComplex).take_front(number), true));
    return Translation::typeOf(op.getResult(number + before).getType()).getShape();
  };
  ArrayRef<int64_t> left = shapeOfResult(2), right = shapeOfResult(3);
  int64_t size = std::min(a.rows(), a.columns());
  bool isFull = left.size() == a.rank() && right.size() == a.rank() &&
                (left.back() > size || std::min(right.back(), right[a.rank() - 2]) > size);
  // LAPACK's letter 'N', a result that has the wrong shape then, or vectors that the program does not use.
  bool isWanted = letterOf(call.op, "mode") != 'N' && (isUsed(call, 2) || isUsed(call, 3));
  if (!isWanted)
    return singular(a, SingularVectors::none);
  return singular(a, isFull ? SingularVectors::square : SingularVectors::some);
}

/// U or V^H, or an array of zeros in the type of the result, which the program does not use.
Matrix vectorsOr(const Call &call, const std::optional<Matrix> &vectors, size_t number) {
  if (vectors)
    return *vectors;
  CustomCallOp op = call.op;
  auto before = static_cast<size_t>(llvm::count(ArrayRef(call.areComplex).take_front(number), true));
  Matrix none(call.t, call.t.splat(Translation::typeOf(op.getResult(number + before).getType()), 0));
  return call.areComplex[number] ? Matrix(none, none) : none;
}

CallResults gesdd(const Call &call) {
  Singular parts = singularOf(call);
  return Matrices{call.matrix(), vectorsOf(parts.values), vectorsOr(call, parts.left, 2),
                  vectorsOr(call, parts.right, 3), noFailure(call)};
}

/// With V in the place of V^H.
CallResults gesvdj(const Call &call) {
  Singular parts = singularOf(call);
  if (parts.right)
    parts.right = parts.right->adjoint();
  return Matrices{call.matrix(), vectorsOf(parts.values), vectorsOr(call, parts.left, 2),
                  vectorsOr(call, parts.right, 3), noFailure(call)};
}

/// Whether an array is zero, known while compiling.
bool isZeroConstant(Value array) {
  while (auto broadcast = array.getDefiningOp<spmdc::BroadcastInDimOp>())
    array = broadcast.getOperand();
  auto constant = array.getDefiningOp<spmdc::ConstantOp>();
  auto values = constant ? llvm::dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
  return values && values.isSplat() && values.getSplatValue<APInt>().isZero();
}

CallResults geqp3(const Call &call) {
  if (!isZeroConstant(call.operands[1].get()))
    return refuse(call.op, "factors a matrix with columns that are to be the first ones; only zeros are supported, any "
                           "order of all columns");
  PivotedReflectors factor = pivotedQr(call.matrix());
  return Matrices{factor.reflectors.matrix, vectorsOf(factor.order + 1), vectorsOf(factor.reflectors.taus)};
}

CallResults ormqr(const Call &call) {
  FailureOr<Matrices> operands = matricesOf(call.op, {call.matrix(), call.operands[2]});
  if (failed(operands))
    return failure();
  const Matrix &a = (*operands)[0], &x = (*operands)[1];
  Matrix taus = columnOf(call.operands[1]);
  bool isLeft = flagOf(call.op, "left").value_or(true), isAdjoint = flagOf(call.op, "transpose").value_or(false);
  if (taus.shape().drop_back(2) != a.shape().drop_back(2) || taus.rows() > a.columns() ||
      (isLeft ? x.rows() : x.columns()) != a.rows())
    return refuse(call.op, "has more reflections than columns, or a matrix of another size");
  // X Q is the adjoint of Q^H X^H.
  return Matrices{isLeft ? applyReflectors(a, taus, x, isAdjoint)
                         : applyReflectors(a, taus, x.adjoint(), !isAdjoint).adjoint()};
}

CallResults gehrd(const Call &call) {
  if (!isSquare(call.matrix()))
    return refuseShape(call);
  const Matrix &a = call.matrix();
  auto config = configOf(call.op);
  auto low = config ? config.getAs<IntegerAttr>("low") : IntegerAttr();
  auto high = config ? config.getAs<IntegerAttr>("high") : IntegerAttr();
  if ((low && low.getInt() != 1) || (high && high.getInt() != a.rows()))
    return refuse(call.op, "reduces a part of a matrix, which is not supported; reduce all of it");
  Reflectors factor = a.rows() > 1 ? hessenberg(a) : Reflectors{a, a.rows(0, 0)};
  return Matrices{factor.matrix, vectorsOf(factor.taus), noFailure(call)};
}

/// Eigenvalues as LAPACK has them: of real matrices, both parts apart.
void addValues(Matrices &results, const Call &call, const Matrix &values) {
  if (call.matrix().isComplex())
    results.push_back(vectorsOf(values));
  else
    results.append({vectorsOf(values.re()), vectorsOf(values.im())});
}

CallResults geev(const Call &call) {
  if (!isSquare(call.matrix()))
    return refuseShape(call);
  auto isWanted = [&](StringRef flag, StringRef letter) {
    return flagOf(call.op, flag).value_or(letterOf(call.op, letter) == 'V');
  };
  GeneralEigen parts =
      generalEigen(call.matrix(), isWanted("left", "compute_left"), isWanted("right", "compute_right"));
  Matrices results;
  addValues(results, call, parts.values);
  Matrix none = call.matrix().filled(0);
  results.append({parts.left.value_or(none), parts.right.value_or(none), numbersOf(parts.info)});
  return results;
}

CallResults gees(const Call &call) {
  if (!isSquare(call.matrix()))
    return refuseShape(call);
  if (letterOf(call.op, "sort") == 'S')
    return refuse(call.op, "sorts eigenvalues by a function of the runtime; leave out 'sort'");
  Isolated isolated = isolate(call.matrix());
  Schur form = standardized(schur(isolated.matrix, letterOf(call.op, "mode") == 'V'));
  if (form.vectors)
    form.vectors = inOriginalOrder(*form.vectors, isolated.order);
  Matrices results{form.triangle, form.vectors.value_or(call.matrix().filled(0))};
  addValues(results, call, eigenvaluesOf(form.triangle));
  results.append({noFailure(call), numbersOf(form.info)});
  return results;
}

/// The diagonals of U in the place of those of the matrix.
CallResults gtsv(const Call &call) {
  Matrices diagonals;
  for (const Matrix &diagonal : ArrayRef(call.operands).take_front(3)) {
    if (diagonal.shape() != call.matrix().shape().drop_back())
      return refuse(call.op, "has diagonals of other sizes than its right sides");
    diagonals.push_back(columnOf(diagonal));
  }
  TridiagonalSolution solved = solveTridiagonal(diagonals[0], diagonals[1], diagonals[2], call.matrix());
  auto diagonal = [&](int64_t number) { return vectorsOf(solved.factor.columns(number, number + 1)); };
  return Matrices{diagonal(2), diagonal(0), diagonal(1), solved.solution, numbersOf(solved.info)};
}

CallResults gtsv2(const Call &call) {
  CallResults results = gtsv(call);
  if (failed(results))
    return failure();
  return Matrices{(*results)[3]};
}

/// Of 1,000 matrices of 32 rows of f32, `solve` takes 8 ms in lanes and 44 without; `eigh` of 8 rows takes 8 and 11,
/// but of 16 rows 41 and 31 (benchmarks/RESULTS.md).
constexpr int64_t kSmall = 32, kSmallest = 8;

constexpr Routine kRoutines[] = {
    {"potrf", 1, 2, potrf, kSmall},
    {"trsm", 2, 1, trsm},
    {"getrf", 1, 3, getrf, kSmall},
    {"geqrf", 1, 2, geqrf, kSmall},
    {"orgqr", 2, 1, orgqr, kSmall},
    {"ungqr", 2, 1, orgqr, kSmall},
    {"ormqr", 3, 1, ormqr},
    {"unmqr", 3, 1, ormqr},
    {"geqp3", 2, 3, geqp3, kSmall},
    {"syevd", 1, 3, syevd, kSmallest},
    {"heevd", 1, 3, syevd, kSmallest},
    {"gesdd", 1, 5, gesdd, kSmall},
    {"gesvd", 1, 5, gesdd, kSmall},
    {"gesvdj", 1, 5, gesvdj, kSmall},
    {"gesvdp", 1, 5, gesvdj, kSmall},
    {"gehrd", 1, 3, gehrd},
    {"geev", 1, 5, geev, 0, true},
    {"eig_real", 1, 5, geev, 0, true},
    {"eig_comp", 1, 5, geev, 0, true},
    {"gees", 1, 6, gees, 0, true},
    {"gtsv", 4, 5, gtsv, 0, false, 3},
    {"gtsv2", 4, 1, gtsv2, 0, false, 3},
};

} // namespace

const Routine *findRoutine(StringRef name) {
  const auto *found = llvm::find_if(kRoutines, [&](const Routine &routine) { return routine.name == name; });
  return found == std::end(kRoutines) ? nullptr : found;
}

} // namespace spmdc::stablehlo
