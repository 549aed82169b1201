//===- CompileMessages.h - errors, warnings and remarks of a compile -*- C++ -*-===//
#pragma once

#include "compiler/OtherSources.h"
#include "frontend/stablehlo/TextPlaces.h"
#include "frontend/syntax/Diagnostics.h"
#include "ir/spmd/Location.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

#include <optional>
#include <string>

namespace spmdc {

/// A program's text, and the errors, warnings and remarks about it, with their source positions. Not thread-safe.
struct CompileMessages {
  CompileMessages(std::string fileName, std::string text) : fileName(std::move(fileName)), text(std::move(text)) {}

  /// Converts an MLIR diagnostic to an error, warning or remark at the source range of its expression.
  mlir::LogicalResult take(mlir::Diagnostic &diagnostic);

  /// The source range of the expression at a source position (`mlp.spmd:5:7`) or at an IR location. It is the begin of
  /// the program if the position is in a file that cannot be read.
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
  /// Whether the file of a position can be shown: the program, or a file that can be read.
  bool isReadable(const SourcePosition &position);
  /// Adds an error or warning to `list`, at its line of Python. If that file cannot be read, it is at the line of the
  /// exported text, and the message has the place and its calls.
  Diagnostic &add(Diagnostics &list, mlir::Location loc, std::string message);

  const Source *source = nullptr;
  OtherSources otherSources;
  std::optional<stablehlo::TextPlaces> textPlaces; ///< Made for the first message that needs it.
};

} // namespace spmdc
