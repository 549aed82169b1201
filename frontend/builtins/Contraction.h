//===- Contraction.h - sums of products over named dimensions ---*- C++ -*-===//
#pragma once

#include "frontend/emit/Emitter.h"
#include "ir/array/Contraction.h"

namespace spmdc {

/// The einsum of the operands: sums over all labels that `output` does not name. A label may repeat in an operand
/// (its diagonal is taken). Labels of one name have one size; every label of `output` is in some operand.
mlir::Value emitContraction(Emitter &e, llvm::SmallVector<Labelled> operands, llvm::ArrayRef<int64_t> output);

} // namespace spmdc
