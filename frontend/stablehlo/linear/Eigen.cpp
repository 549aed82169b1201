//===- Eigen.cpp - eigenvalues of Hermitian matrices ----------------------===//
//
// LAPACK's syevd: reduction to tridiagonal matrices, divide and conquer, and the reflections of the reduction.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/linear/DivideAndConquer.h"
#include "frontend/stablehlo/linear/Factorizations.h"
#include "frontend/stablehlo/linear/TridiagonalForm.h"

using namespace mlir;

namespace spmdc::stablehlo {

Eigen eigen(const Matrix &a, bool hasVectors) {
  int64_t size = a.rows();
  Matrix largest = absolute(a.lowerTriangle()).reduceColumns(ReductionKind::max).reduceRows(ReductionKind::max);
  // Zero, or NaN for matrices with infinities or NaN.
  Matrix nothing = materialized(largest * 0);
  if (size == 1)
    return {a.re() + nothing, hasVectors ? std::optional(a.filled(1) + nothing) : std::nullopt};
  Matrix scale = materialized(powerOfTwoOf(largest));
  TridiagonalForm form = tridiagonalForm(materialized((a / scale).hermitian()));
  TridiagonalEigen found = eigenOfTridiagonal(form.main, form.beside, size, /*isDescending=*/false, hasVectors);
  Eigen result{found.values * scale + nothing, std::nullopt};
  if (hasVectors)
    result.vectors = applyBlocks(form.blocks, *found.vectors) + nothing;
  return result;
}

} // namespace spmdc::stablehlo
