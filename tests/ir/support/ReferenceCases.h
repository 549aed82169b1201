//===- ReferenceCases.h - expected results of operations --------*- C++ -*-===//
//
// Reads tests/ir/array/reference.json, which make_reference.py wrote with NumPy and JAX: functions of one operation
// with literal operands and results.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/Tensor.h"

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace spmdc {

struct ReferenceCase {
  std::string op;   ///< Without the dialect: `add`.
  std::string name; ///< `add_f32`.
  std::string ir;   ///< One function, `main`.
  std::vector<Tensor> inputs;
  Tensor output;
  int64_t ulp = 0; ///< Units in the last place that an evaluation in double precision may be off.
};

/// All cases. Throws std::runtime_error if the file does not have make_reference.py's format.
std::vector<ReferenceCase> readReferenceCases(mlir::MLIRContext &context);

/// Units in the last place of the type between two elements: 0 where both are NaN or both the same; a very large
/// number where one is NaN, signs of zero differ, or integers differ.
int64_t ulpDistance(mlir::Type elementType, Scalar a, Scalar b);

/// Empty if all elements are within `ulp`; else a line that names the first that is not.
std::string describeDifference(const Tensor &expected, const Tensor &actual, int64_t ulp);

} // namespace spmdc
