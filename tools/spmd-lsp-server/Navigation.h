//===- Navigation.h - from names to their declarations and uses -*- C++ -*-===//
#pragma once

#include "tools/spmd-lsp-server/Snapshot.h"

namespace spmdc {

/// Where the name under the cursor is declared; none for operations, which are in no file.
std::vector<mlir::lsp::Location> definitionsAt(const Snapshot &snapshot, const mlir::lsp::URIForFile &uri,
                                               mlir::lsp::Position position);

/// All places where the name under the cursor stands for the same, in the order of the text.
std::vector<mlir::lsp::Location> referencesAt(const Snapshot &snapshot, const mlir::lsp::URIForFile &uri,
                                              mlir::lsp::Position position, bool includesDeclaration);

/// What the program declares, as a tree: fields in structs, parameters and variables in functions, axes in the mesh.
std::vector<mlir::lsp::DocumentSymbol> documentSymbols(const Snapshot &snapshot);

} // namespace spmdc
