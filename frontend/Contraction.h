//===- Contraction.h - sums of products over named dimensions ---*- C++ -*-===//
#pragma once

#include "frontend/Emitter.h"

namespace spmdc {

/// An array whose dimensions have names (numbers); the same name is the same index.
struct Labelled {
  mlir::Value array;
  llvm::SmallVector<int> labels;
};

/// The einsum of the operands: sums over all labels that `output` does not name. A label may repeat in an operand
/// (its diagonal is taken). Labels of one name have one size; every label of `output` is in some operand.
mlir::Value emitContraction(Emitter &e, llvm::SmallVector<Labelled> operands, llvm::ArrayRef<int> output);

} // namespace spmdc
