//===- PointFunction.h - an epilogue as a function of numbers ---*- C++ -*-===//
//
// The epilogue of a product whose elements depend on the product's element, on elements of arrays of the same shape,
// and on elements of rows alone, and whose operations are sums, products, tanh, and conversions to types that are no
// less precise than the result's. It is a function of that many real numbers, which can be evaluated at any point
// without rounding. Such a function is smooth, and has no points at which it is special: what holds at many points,
// from large ones to small ones, holds everywhere.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"

#include <optional>

namespace spmdc {

class PointFunction {
public:
  /// How an input of the kernel (but the product) is read for an element of the result.
  enum class Read { Never, Element, Row };

  /// Returns nullopt if the epilogue of the product has other reads or operations. `columns` is the length of a row.
  static std::optional<PointFunction> of(plan::KernelOp kernel, int64_t columns);

  /// The inputs but the first one, which is the product.
  llvm::ArrayRef<Read> getReads() const { return reads; }
  bool hasTanh() const { return containsTanh; }
  /// Returns the value for a product and a value of each other input.
  double evaluate(double product, llvm::ArrayRef<double> inputs) const;

private:
  explicit PointFunction(plan::KernelOp kernel) : kernel(kernel) {}
  /// Notes that the value is read so; false if it is none of that many elements, or an input that is read otherwise.
  bool addRead(mlir::Value value, Read read, int64_t elements);

  mutable plan::KernelOp kernel;
  llvm::SmallVector<Read> reads;
  bool containsTanh = false;
};

} // namespace spmdc
