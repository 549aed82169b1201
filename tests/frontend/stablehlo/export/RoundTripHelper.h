//===- RoundTripHelper.h - programs to StableHLO and back -------*- C++ -*-===//
#pragma once

#include "tests/programs/support/Case.h"

#include <optional>
#include <string>

namespace spmdc {

/// Exports a module of array operations, whose derivatives it expands first, and imports the text again. Returns how
/// the imported program differs from the original: names, types and shardings of parameters, names and types of
/// results, and, by the reference evaluator, the values for these arguments. Values agree in every bit, unless the
/// program contains an operation that StableHLO composes with other roundings (`isComposed`); those of loops of more
/// than 100,000 iterations are not compared, nor without arguments. Empty if nothing differs.
std::string describeRoundTrip(mlir::ModuleOp module, std::optional<llvm::ArrayRef<Tensor>> arguments);

/// The same for a program of the language, or one exported from JAX (by the end of the file's name).
std::string describeRoundTrip(mlir::MLIRContext &context, const std::string &fileName, const std::string &text,
                              std::optional<llvm::ArrayRef<Tensor>> arguments);

} // namespace spmdc
