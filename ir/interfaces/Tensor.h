//===- Tensor.h - an array value of the reference evaluators ----*- C++ -*-===//
#pragma once

#include "ir/interfaces/Scalar.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace spmdc {

/// A dense array in row-major order. Simple and slow on purpose: it is the reference for compiled code.
struct Tensor {
  llvm::SmallVector<int64_t, 4> shape;
  mlir::Type elementType;
  std::vector<Scalar> elements;

  Tensor() = default;
  Tensor(llvm::ArrayRef<int64_t> shape, mlir::Type elementType, Scalar fill = {});

  int64_t size() const { return static_cast<int64_t>(elements.size()); }
  /// Position in `elements` of a multi-dimensional index.
  int64_t offsetOf(llvm::ArrayRef<int64_t> index) const;
  Scalar &at(llvm::ArrayRef<int64_t> index) { return elements[offsetOf(index)]; }
  const Scalar &at(llvm::ArrayRef<int64_t> index) const { return elements[offsetOf(index)]; }

  static Tensor fromAttr(mlir::DenseElementsAttr attr);
  mlir::DenseElementsAttr toAttr() const;
};

/// Product of the sizes.
int64_t elementCount(llvm::ArrayRef<int64_t> shape);

/// Moves `index` to the next one in row-major order; false after the last. Start with all zeros; a shape with a zero
/// has no index, which the caller checks.
bool nextIndex(llvm::MutableArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape);

} // namespace spmdc
