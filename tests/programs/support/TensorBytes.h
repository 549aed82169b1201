//===- TensorBytes.h - arrays as they lie in memory -------------*- C++ -*-===//
#pragma once

#include "ir/interfaces/Tensor.h"

#include <vector>

namespace spmdc {

/// Row-major elements of the element type.
std::vector<char> toBytes(const Tensor &tensor);
Tensor fromBytes(const std::vector<char> &bytes, llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

} // namespace spmdc
