//===- Import.h - programs exported from JAX --------------------*- C++ -*-===//
//
// The second front end: it reads StableHLO with Shardy's annotations, as
// `jax.jit(f).lower(...).as_text(debug_info=True)` and `jax.export` write it, and makes the module of array operations
// that a program of the language would be.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/Frontend.h"

namespace spmdc {

/// Whether the text is an exported program, and not IR of a stage of this compiler.
bool isStablehlo(llvm::StringRef text);

/// The begin of a text of HLO, such as `compiled.as_text()`. It is recognised so that a message can say what to export.
inline constexpr llvm::StringRef kHloBegin = "HloModule ";

/// The module of an exported program, at stage `array`. Reads no files; equal texts give equal modules. Errors are
/// emitted through the context, with the places of the Python program where the text has them; those of `--mesh` are in
/// `diagnostics`. Null where there are errors. Uses `function` and the mesh of the options.
mlir::OwningOpRef<mlir::ModuleOp> importStablehlo(llvm::StringRef text, llvm::StringRef fileName,
                                                  const FrontendOptions &options, mlir::MLIRContext &context,
                                                  Diagnostics &diagnostics);

} // namespace spmdc
