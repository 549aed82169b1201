//===- Combiner.h - how a reduction combines elements -----------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/Translation.h"

namespace spmdc::stablehlo {

/// The region of a reduction of several arrays of one shape. Where each result combines the two elements of its own
/// array by one operation, the arrays are reduced by kinds (sum, max, ...), which devices reduce together. Any other
/// region of scalars is applied to arrays of elements: a dimension is reduced as a balanced tree, neighbours first.
///
///   (mean, count) of 6 elements: 6 -> 3 pairs; 3 -> 1 pair and a last one, which is combined in the end.
///
/// Elements keep their order, so the region need not be commutative. Results are the same on every mesh.
class Combiner {
public:
  using Arrays = llvm::SmallVector<mlir::Value>;

  /// Fails with a message if the region is not scalar code of these types.
  static mlir::FailureOr<Combiner> get(Translation &t, mlir::Operation *op, mlir::Region &body,
                                       mlir::ValueRange inputs);

  /// The kinds of the arrays; empty if a region combines them.
  llvm::ArrayRef<ReductionKind> getKinds() const { return kinds; }

  /// Elements of `x` with those behind them. All arrays have one shape.
  mlir::FailureOr<Arrays> combine(llvm::ArrayRef<mlir::Value> x, llvm::ArrayRef<mlir::Value> y) const;
  /// The arrays without these dimensions, which have elements. `dims` is sorted.
  mlir::FailureOr<Arrays> reduce(llvm::ArrayRef<mlir::Value> x, llvm::ArrayRef<int64_t> dims) const;
  /// The results combined with initial values of the source once more; neutral ones emit nothing.
  mlir::FailureOr<Arrays> addInit(mlir::ValueRange inits, llvm::ArrayRef<mlir::Value> x) const;
  /// Whether these values of the source leave other elements unchanged.
  bool areNeutral(mlir::ValueRange inits) const;

private:
  Combiner(Translation &t, mlir::Region &body, llvm::SmallVector<ReductionKind> kinds)
      : t(&t), body(&body), kinds(std::move(kinds)) {}

  mlir::FailureOr<Arrays> reduceByTree(Arrays x, int64_t dim) const;

  Translation *t;
  mlir::Region *body;
  llvm::SmallVector<ReductionKind> kinds;
};

/// Slices of all arrays (`Translation::sliceDim`).
Combiner::Arrays sliceAll(Translation &t, llvm::ArrayRef<mlir::Value> x, int64_t dim, int64_t begin, int64_t end,
                          int64_t stride = 1);

} // namespace spmdc::stablehlo
