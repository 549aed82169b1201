//===- HoverText.h - what is said of the place under a cursor ---*- C++ -*-===//
#pragma once

#include "tools/spmd-lsp-server/Snapshot.h"

#include <optional>

namespace spmdc {

/// Of a name: how it is declared, what it stands for, how that lies on the mesh; of an operation: what it does; of any
/// other place: what the innermost expression around it is. Nothing where nothing is known.
std::optional<mlir::lsp::Hover> hoverAt(const Snapshot &snapshot, mlir::lsp::Position position);

/// `f32[8, 4]`, or several types where the calls of a function differ; for lists of names. Empty: unknown.
std::string typeText(const IndexedPlace &place);

} // namespace spmdc
