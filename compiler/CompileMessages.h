//===- CompileMessages.h - errors, warnings and remarks of a compile -*- C++ -*-===//
#pragma once

#include "compiler/OtherSources.h"
#include "frontend/syntax/Diagnostics.h"
#include "ir/spmd/Location.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

#include <string>

namespace spmdc {

/// A program's text, and the errors, warnings and remarks about it, with their source positions. Not thread-safe.
struct CompileMessages {
  CompileMessages(std::string fileName, std::string text) : fileName(std::move(fileName)), text(std::move(text)) {}

  /// Converts an MLIR diagnostic to an error, warning or remark at the source range of its expression.
  mlir::LogicalResult take(mlir::Diagnostic &diagnostic);

  /// The source range of the expression at a source position (`mlp.spmd:5:7`) or at an IR location. It has no source if
  /// the position is in another file.
  Range placeOf(llvm::StringRef place);
  Range placeOf(mlir::Location loc);

  /// Adds an error without a source position.
  mlir::LogicalResult fail(const std::string &message) {
    general += "error: " + message + "\n";
    return mlir::failure();
  }

  bool hasErrors() const { return diagnostics.hasErrors() || !general.empty(); }

  std::string fileName, text;
  Diagnostics diagnostics;
  Diagnostics warnings{"warning"};
  std::string general; ///< Errors without a source position.
  std::string remarks;

private:
  Range rangeOf(const SourcePosition &first, const SourcePosition &last);
  /// The message, with the place if no source shows it.
  std::string messageAt(mlir::Location loc, std::string message);
  void noteCalls(Diagnostic &error, mlir::Location loc);

  const Source *source = nullptr;
  OtherSources otherSources;
};

} // namespace spmdc
