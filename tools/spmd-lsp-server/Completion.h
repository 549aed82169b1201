//===- Completion.h - completion items at a cursor --------------*- C++ -*-===//
#pragma once

#include "tools/spmd-lsp-server/Snapshot.h"

namespace spmdc {

/// The completion items at a position. After a dot: fields of the value before it. In `P(` or `@(`: axes of the mesh.
/// After `@`: axes, and values, because `@` is also the matrix product. Elsewhere: names in scope, operations, dtypes
/// and keywords. In comments and strings: nothing.
mlir::lsp::CompletionList completionsAt(const Snapshot &snapshot, mlir::lsp::Position position);

} // namespace spmdc
