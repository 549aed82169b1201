//===- DefinitionNotes.h - notes where values are defined -------*- C++ -*-===//
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"

#include <initializer_list>
#include <string>

namespace spmdc {

/// A value that an error speaks of: `operand 1`.
struct MentionedValue {
  mlir::Value value;
  std::string what;
};

/// Attaches a note, `operand 1 is defined here`, for each value that is defined at another place than the error, and
/// reports the error. A place that is unknown, or has a note already, gets none. Returns failure.
mlir::LogicalResult failWithDefinitions(mlir::InFlightDiagnostic error, std::initializer_list<MentionedValue> values);

} // namespace spmdc
