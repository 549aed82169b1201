//===- LapackRoutines.h - routines of LAPACK --------------------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/linear/Operands.h"

namespace spmdc::stablehlo {

/// A call, with the arrays that it takes: each of them is an operand of the source, real or complex.
struct Call {
  Translation &t;
  CustomCallOp op;
  Matrices operands;
  llvm::SmallVector<bool> areComplex; ///< The results, two arrays each if so.
  size_t number = 0;                  ///< Of the operand that is matrices.
  const Matrix &matrix() const { return operands[number]; }
};
using CallResults = mlir::FailureOr<Matrices>;

/// A routine by its name without the letter of its type.
struct Routine {
  llvm::StringRef name;
  size_t operands, results; ///< Of complex matrices, the eigenvalues are one result less than of real ones.
  CallResults (*translate)(const Call &);
  int64_t mostInLanes = 0; ///< Rows of the matrices that it takes with the batch in lanes (`inFasterOrder`).
  bool hasValues = false;  ///< Eigenvalues that are complex for real matrices, too.
  size_t matrix = 0;       ///< The operand that is matrices.
};

/// Null if there is no translation.
const Routine *findRoutine(llvm::StringRef name);

} // namespace spmdc::stablehlo
