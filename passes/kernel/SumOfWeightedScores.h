//===- SumOfWeightedScores.h - a sum that needs no scores -------*- C++ -*-===//
//
// The gradient of a softmax needs, for each row, the sum over columns of weights times other scores:
//
//     sum over j of P[i, j] (w v^T)[i, j]  =  sum over d of w[i, d] (P v)[i, d]
//
// If the product P v is computed anyway, the right side reads two small arrays instead of multiplying all scores again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include <optional>

namespace spmdc {

class SumOfWeightedScores {
public:
  /// The sum `reduce` in terms of one of the products of weights; factors that are constant in a row, and negations,
  /// may be between. Nullopt if it has no such form.
  static std::optional<SumOfWeightedScores> match(ReduceOp reduce, llvm::ArrayRef<DotGeneralOp> products);

  /// The sum in f32, with the shape of the reduce.
  mlir::Value build(mlir::OpBuilder &b) const;
  ReduceOp getReduce() const { return reduce; }
  /// Appends the values that it reads beside the product.
  void appendInputs(llvm::SmallVectorImpl<mlir::Value> &inputs) const;

private:
  /// A factor or divisor of each row.
  struct RowFactor {
    mlir::Value value;
    bool divides = false;
  };

  /// Skips factors of rows, negations and conversions in front of a value.
  mlir::Value skipFactors(mlir::Value value);
  bool matchProduct(mlir::Value weights, DotGeneralOp score, DotGeneralOp product);

  ReduceOp reduce;
  mlir::Value held; ///< w, with the dimensions of the product's result in this order:
  llvm::SmallVector<int64_t> heldDims;
  DotGeneralOp product;
  llvm::SmallVector<RowFactor> factors;
  bool isNegative = false;
};

} // namespace spmdc
