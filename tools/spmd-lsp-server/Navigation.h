//===- Navigation.h - from names to their declarations and uses -*- C++ -*-===//
#pragma once

#include "tools/spmd-lsp-server/Snapshot.h"

namespace spmdc {

/// The declaration of the name under the cursor; empty for operations, which have no source file.
std::vector<mlir::lsp::Location> definitionsAt(const Snapshot &snapshot, const mlir::lsp::URIForFile &uri,
                                               mlir::lsp::Position position);

/// All uses of the symbol under the cursor, in the order of the text.
std::vector<mlir::lsp::Location> referencesAt(const Snapshot &snapshot, const mlir::lsp::URIForFile &uri,
                                              mlir::lsp::Position position, bool includesDeclaration);

/// The tree of declarations: fields in structs, parameters and variables in functions, axes in the mesh.
std::vector<mlir::lsp::DocumentSymbol> documentSymbols(const Snapshot &snapshot);

} // namespace spmdc
