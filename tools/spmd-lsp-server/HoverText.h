//===- HoverText.h - hover texts --------------------------------*- C++ -*-===//
#pragma once

#include "tools/spmd-lsp-server/Snapshot.h"

#include <optional>

namespace spmdc {

/// The hover at a position. On a name: its declaration, type, sharding and local type. On an operation: its signature
/// and documentation. Elsewhere: the type and sharding of the innermost expression. Returns nullopt if nothing is
/// known.
std::optional<mlir::lsp::Hover> hoverAt(const Snapshot &snapshot, mlir::lsp::Position position);

/// `f32[8, 4]`, or several types if the calls of a function differ (`f32[8] or f32[4]`); empty if unknown.
std::string typeText(const IndexedPlace &place);

} // namespace spmdc
