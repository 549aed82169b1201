//===- TensorBytes.h - arrays as bytes --------------------------*- C++ -*-===//
#pragma once

#include "ir/interfaces/Tensor.h"

#include <vector>

namespace spmdc {

/// Returns row-major elements of the element type.
std::vector<char> toBytes(const Tensor &tensor);
Tensor fromBytes(const std::vector<char> &bytes, llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

} // namespace spmdc
