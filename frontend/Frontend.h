//===- Frontend.h - from text to array IR -----------------------*- C++ -*-===//
//
// The entry of the front end: it turns a program's text into a module of the `array` dialect, or into errors. Its
// parts: syntax/ (text to tree, no MLIR), sema/ (names), emit/ (types, shapes, operations), builtins/ (the table of
// functions), editor/ (values of names, for the language server).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/syntax/Diagnostics.h"

#include "runtime/support/DType.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spmdc {

class ProgramIndex;

struct FrontendOptions {
  /// `--set NAME=VALUE`: replaces consts.
  std::vector<std::pair<std::string, std::string>> sets;
  /// The option of `sets`, for error messages: `--set`, or a field of JitOptions.
  std::string setOption = "--set";
  /// `--mesh a=4,b=2`: replaces the sizes of the mesh, or declares one.
  std::string meshOverride;
  /// The option that set `meshOverride`, for error messages (`--mesh`, `--mesh-b`).
  std::string meshOption = "--mesh";
  /// `--fn NAME`: the entry. Empty: there is none, and only functions whose parameters have types are checked.
  std::string function = "main";
  /// The option that set `function`, for error messages.
  std::string functionOption = "--fn";
  /// The target's platform, as JAX names it: of exports for several platforms, the one that is compiled.
  std::string platform = "cpu";
  /// Receives the values of the program's names and expressions (frontend/editor/ProgramIndex.h), also for a program
  /// with errors; may be null. The module's values carry the handles of the index (ir/spmd/ValueNames.h,
  /// addValueHandle).
  ProgramIndex *index = nullptr;
  /// Receives warnings about a program without errors: values that are discarded, names that are never read. Locations
  /// are in the sources of the errors' Diagnostics. Null: no warnings.
  Diagnostics *warnings = nullptr;
};

/// Loads the dialects of the module.
void loadFrontendDialects(mlir::MLIRContext &context);

/// Type-checks the program and builds its module in the `array` dialect (Stage::Array). The entry is one `func.func`
/// with the option's name, and all calls are inlined. The module carries the mesh (`spmd.mesh`); arguments and results
/// carry their names (`spmd.name`) and the shardings that the program gives them; every operation carries the range of
/// its expression. Null if there are errors: then `diagnostics` holds all errors of the file. The importers of other
/// languages return such a module, too (compiler/Importer.h).
mlir::OwningOpRef<mlir::ModuleOp> importProgram(llvm::StringRef text, llvm::StringRef fileName,
                                                const FrontendOptions &options, mlir::MLIRContext &context,
                                                Diagnostics &diagnostics);

/// A result of a program's entry, as the language sees it: the words of a random key are not a dimension.
struct EntryResult {
  spmd::DType dtype = spmd::DType::F32;
  std::vector<int64_t> shape;
};

/// The types of the entry's results, tuples and structs taken apart. Nullopt if there are errors, as above.
std::optional<std::vector<EntryResult>> inferResults(llvm::StringRef text, llvm::StringRef fileName,
                                                     const FrontendOptions &options, mlir::MLIRContext &context,
                                                     Diagnostics &diagnostics);

/// The parsed program as text (`--emit=ast`). Errors go to `diagnostics`; the text then holds the parts without errors.
std::string dumpAst(llvm::StringRef text, llvm::StringRef fileName, Diagnostics &diagnostics);

} // namespace spmdc
