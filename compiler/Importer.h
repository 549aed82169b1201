//===- Importer.h - from a program's text to a module -----------*- C++ -*-===//
//
// One importer for each language of programs. The end of the file's name chooses it (`importerOf`); the table is in
// Importer.cpp. docs/add-front-end.md shows how a language is added.
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

/// The importer of the file. Every name has one: a name without a known ending is a program of the array language. A
/// `.mlir` file is IR of this compiler, or a program exported from JAX; the text tells them apart.
const Importer &importerOf(llvm::StringRef fileName, llvm::StringRef text);

} // namespace spmdc
