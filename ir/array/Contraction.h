//===- Contraction.h - sums of products over labelled dimensions -*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// An array whose dimensions have labels; the same label is the same index. None is twice in one array.
struct Labelled {
  mlir::Value array;
  llvm::SmallVector<int64_t> labels;

  bool has(int64_t label) const { return llvm::is_contained(labels, label); }
  int64_t sizeOf(int64_t label) const;
};

/// The labels of the product of two arrays, as `contractPair` has them: what both have, what x has, what y has, but for
/// those that both have and nothing else needs, over which it sums. Where it sums over none, and one side has all, that
/// side's.
llvm::SmallVector<int64_t> labelsOfPair(llvm::ArrayRef<int64_t> x, llvm::ArrayRef<int64_t> y,
                                        llvm::function_ref<bool(int64_t)> isNeeded);

/// The type of an array with these labels. Who builds contractions knows the sizes, and how the array is to lie.
using TypeOfLabels = llvm::function_ref<ArrayType(llvm::ArrayRef<int64_t> labels)>;

/// The product of two arrays, summed over the labels that both have and nothing else needs: a dot_general, or, where
/// there is no such label, an element-wise product, which fuses with what is around it.
Labelled contractPair(mlir::OpBuilder &builder, mlir::Location loc, const Labelled &x, const Labelled &y,
                      llvm::function_ref<bool(int64_t)> isNeeded, TypeOfLabels typeOf);

/// The array with its dimensions in this order.
mlir::Value transposeTo(mlir::OpBuilder &builder, mlir::Location loc, const Labelled &x, llvm::ArrayRef<int64_t> order,
                        TypeOfLabels typeOf);

} // namespace spmdc
