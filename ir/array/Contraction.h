//===- Contraction.h - products of arrays with labels -----------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// An array whose dimensions have labels; the same label is the same index. No label occurs twice in one array.
struct Labelled {
  mlir::Value array;
  llvm::SmallVector<int64_t> labels;

  bool has(int64_t label) const { return llvm::is_contained(labels, label); }
  int64_t sizeOf(int64_t label) const;
};

/// The labels of the product that `contractPair` builds: those of both arrays, then those of x alone, then those of y
/// alone. Labels that both arrays have and for which `isNeeded` is false are summed over; the product does not have
/// them. If nothing is summed over and one array has all labels, the product has that array's order.
llvm::SmallVector<int64_t> labelsOfPair(llvm::ArrayRef<int64_t> x, llvm::ArrayRef<int64_t> y,
                                        llvm::function_ref<bool(int64_t)> isNeeded);

/// Returns the type of an array with these labels. The caller knows the sizes and the sharding.
using TypeOfLabels = llvm::function_ref<ArrayType(llvm::ArrayRef<int64_t> labels)>;

/// The product of two arrays with the labels of `labelsOfPair`: a dot_general, or, if no label is summed over, an
/// element-wise product, which fuses with its neighbours.
Labelled contractPair(mlir::OpBuilder &builder, mlir::Location loc, const Labelled &x, const Labelled &y,
                      llvm::function_ref<bool(int64_t)> isNeeded, TypeOfLabels typeOf);

/// The array with its dimensions in this order.
mlir::Value transposeTo(mlir::OpBuilder &builder, mlir::Location loc, const Labelled &x, llvm::ArrayRef<int64_t> order,
                        TypeOfLabels typeOf);

} // namespace spmdc
