//===- Importer.h - from a program's text to a module -----------*- C++ -*-===//
//
// One importer for each language of programs. The end of the file's name and the begin of its text choose it
// (`languageOf`); the table is in Importer.cpp. docs/add-front-end.md shows how a language is added.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/Frontend.h"

namespace spmdc {

/// Turns texts of one language into modules. Has no state, so it may be used by several threads. Never prints, and
/// reads no files, environment or clocks: equal texts give equal modules.
class Importer {
public:
  virtual ~Importer() = default;

  /// The module of the text, at any stage up to Stage::Plan (`getStage`). Null on errors, which are in `diagnostics`,
  /// or have been emitted through the context.
  virtual mlir::OwningOpRef<mlir::ModuleOp> import(llvm::StringRef text, llvm::StringRef fileName,
                                                   const FrontendOptions &options, mlir::MLIRContext &context,
                                                   Diagnostics &diagnostics) const = 0;

  /// The syntax tree as text (`--emit=ast`); nullopt for a language without one.
  virtual std::optional<std::string> dumpTree(llvm::StringRef text, llvm::StringRef fileName,
                                              Diagnostics &diagnostics) const {
    return std::nullopt;
  }

  /// Whether the text is IR, so that a message about an operation may show it.
  virtual bool readsOperations() const { return false; }
};

/// The array language (docs/language.md), a program exported from JAX (docs/jax.md), or IR of a stage.
enum class Language { Array, Jax, Ir };

/// The language of a file. A file without a known ending is a program of the array language, and a `.mlir` file is IR
/// of this compiler; a text or bytes that JAX exports are recognised under every name. The begin of the text suffices.
Language languageOf(llvm::StringRef fileName, llvm::StringRef text);

const Importer &importerOf(llvm::StringRef fileName, llvm::StringRef text);

/// Replaces an export in bytes by its text; other texts stay as they are. False on errors: then `cause` is the end of a
/// sentence about the file.
bool convertToText(std::string &program, std::string &cause);

} // namespace spmdc
