//===- ProgramGenerator.h - random programs with known accuracy -*- C++ -*-===//
//
// Builds random functions of the array dialect: shapes (odd, one, small primes, sometimes empty), element types,
// operations of all groups, a mesh of 1 to 8 devices, and shardings (several axes on a dimension, sub-axes, uneven).
//
// Each value carries what is known of its accuracy, so that results can be compared as strictly as they deserve:
//   exact   integers, bools, and floats that hold small integers: every order of evaluation gives the same bits;
//   error   otherwise, the absolute error that correct code may have, from the operations on the way.
// Operations that jump (comparisons, rounding, argmax, conversion to integers) are applied to exact values only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/Tensor.h"
#include "tests/programs/support/Random.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <vector>

namespace spmdc {

enum class ShardingMode {
  Annotations, ///< Parameters, results and some values are annotated, also openly: a program before propagation.
  Everything,  ///< Every value has a random closed sharding: a program as propagation could have left it, and worse.
};

struct GeneratorOptions {
  uint64_t seed = 0;
  ShardingMode mode = ShardingMode::Annotations;
  /// Operations chosen; each may need a few more for its operands. A smaller number gives a prefix of the program.
  int maxOps = 10;
};

/// What is known of a value.
struct Accuracy {
  bool exact = true;
  double bound = 0; ///< Largest absolute value.
  double error = 0; ///< Absolute; 0 where exact.
};

struct RandomProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Tensor> arguments;
  std::vector<Accuracy> results; ///< One per result of the function.
};

RandomProgram generateProgram(mlir::MLIRContext &context, const GeneratorOptions &options);

} // namespace spmdc
