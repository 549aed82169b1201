//===- Tensors.h - inputs of tests, bytes, distances ------------*- C++ -*-===//
#pragma once

#include "ir/interfaces/Tensor.h"

#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <string>

namespace spmdc {

/// A context with all dialects of the compiler.
std::unique_ptr<mlir::MLIRContext> makeTestContext();

/// The bytes of a tensor in device memory, and back.
std::string toBytes(const Tensor &tensor);
Tensor fromBytes(const char *bytes, llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

/// The distance of two floats in units in the last place of the element type; equal infinities, NaNs and zeros are 0
/// apart. Integers: 0 or infinity.
double ulpDistance(mlir::Type elementType, Scalar x, Scalar y);

enum class InputKind {
  Ordinary, ///< Floats up to a few tens, integers up to ten.
  Wild,     ///< A third of them are special: NaN, infinities, zeros, subnormal numbers, extreme integers.
  Exact,    ///< Powers of two, whose sums and products do not depend on their order.
};

/// A tensor that depends only on the arguments.
Tensor makeInput(llvm::ArrayRef<int64_t> shape, mlir::Type elementType, unsigned seed, InputKind kind);

} // namespace spmdc
