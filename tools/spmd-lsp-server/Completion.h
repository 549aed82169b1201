//===- Completion.h - what may be written at a place ------------*- C++ -*-===//
#pragma once

#include "tools/spmd-lsp-server/Snapshot.h"

namespace spmdc {

/// Behind a dot the fields of what stands before it; behind `@` and in `P(` or `@(` the axes of the mesh, and behind
/// `@`, which is a product too, values; elsewhere names in scope, operations, dtypes and keywords. Nothing in comments
/// and strings.
mlir::lsp::CompletionList completionsAt(const Snapshot &snapshot, mlir::lsp::Position position);

} // namespace spmdc
