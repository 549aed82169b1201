//===- CompileMessages.h - errors, warnings and remarks of a compile -*- C++ -*-===//
#pragma once

#include "frontend/syntax/Diagnostics.h"
#include "ir/spmd/Location.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

#include <string>

namespace spmdc {

/// A program's text, and the errors, warnings and remarks about it, with their places in the text. Not thread-safe.
struct CompileMessages {
  CompileMessages(std::string fileName, std::string text) : fileName(std::move(fileName)), text(std::move(text)) {}

  /// Converts an MLIR diagnostic to an error, warning or remark at the place of the source expression.
  mlir::LogicalResult take(mlir::Diagnostic &diagnostic);

  /// The range at a place (`mlp.spmd:5:7`) or a location of the IR. The range has no source if the place is in another
  /// file.
  Range placeOf(llvm::StringRef place);
  Range placeOf(mlir::Location loc);

  /// Adds an error that has no place in the program.
  mlir::LogicalResult fail(const std::string &message) {
    general += "error: " + message + "\n";
    return mlir::failure();
  }

  bool hasErrors() const { return diagnostics.hasErrors() || !general.empty(); }

  std::string fileName, text;
  Diagnostics diagnostics;
  Diagnostics warnings{"warning"};
  std::string general; ///< Errors that have no place in the program.
  std::string remarks;

private:
  Range rangeOf(const SourcePosition &first, const SourcePosition &last);
  void noteCalls(Diagnostic &error, mlir::Location loc);

  const Source *source = nullptr;
};

} // namespace spmdc
