//===- CompileMessages.h - what a compilation has to say --------*- C++ -*-===//
#pragma once

#include "frontend/syntax/Diagnostics.h"
#include "ir/spmd/Location.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

#include <string>

namespace spmdc {

/// A program's text, and errors, warnings and remarks about it, each at its place there. Not thread-safe.
struct CompileMessages {
  CompileMessages(std::string fileName, std::string text) : fileName(std::move(fileName)), text(std::move(text)) {}

  /// MLIR's diagnostics become this compilation's, at the place of the expression.
  mlir::LogicalResult take(mlir::Diagnostic &diagnostic);

  /// `mlp.spmd:5:7`, or a location of the IR; nothing in the source where it is of another file.
  Range placeOf(llvm::StringRef place);
  Range placeOf(mlir::Location loc);

  /// Notes an error that has no place in the program.
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
