//===- Frontend.h - from text to array IR -----------------------*- C++ -*-===//
//
// The front end's door: a program's text goes in, a module of the `array` dialect comes out, or errors do. The parts
// behind it: syntax/ (text to tree, no MLIR), Sema* (types, shapes, promotion, names), Emit* (the operations).
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
  /// `--mesh a=4,b=2`: replaces the sizes of the mesh, or declares one.
  std::string meshOverride;
  /// What errors in it name as its place.
  std::string meshOption = "--mesh";
  /// `--fn NAME`: the entry. Empty: there is none, and functions are checked as far as their types are written.
  std::string function = "main";
  /// Gets what names and expressions of the program are (frontend/ProgramIndex.h), also of one with errors; null:
  /// nobody asks. Its handles are on the module's values.
  ProgramIndex *index = nullptr;
  /// Gets what a program without errors probably does not mean: values that are discarded, names that nothing reads.
  /// Places are in the sources of the errors' Diagnostics. Null: warnings are not wanted.
  Diagnostics *warnings = nullptr;
};

/// Loads the dialects that the module is made of.
void loadFrontendDialects(mlir::MLIRContext &context);

/// Checks the program and emits its entry as one `func.func` of the option's name, with all calls inlined. The module
/// carries the mesh (`spmd.mesh`); arguments and results carry their names (`spmd.name`) and the shardings that the
/// program gives them; every operation carries the range of its expression. Null where there are errors: then all of
/// the file's errors are in `diagnostics`.
mlir::OwningOpRef<mlir::ModuleOp> compileToArray(llvm::StringRef text, llvm::StringRef fileName,
                                                 const FrontendOptions &options, mlir::MLIRContext &context,
                                                 Diagnostics &diagnostics);

/// What a program's entry returns, as the language has it: of a random key the words are not counted as a dimension.
struct EntryResult {
  spmd::DType dtype = spmd::DType::F32;
  std::vector<int64_t> shape;
};

/// The types of the entry's results, tuples and structs taken apart. Nothing where there are errors, as above.
std::optional<std::vector<EntryResult>> inferResults(llvm::StringRef text, llvm::StringRef fileName,
                                                     const FrontendOptions &options, mlir::MLIRContext &context,
                                                     Diagnostics &diagnostics);

/// The parsed program as text (`--emit=ast`). Errors go to `diagnostics`; the text then holds what was understood.
std::string dumpAst(llvm::StringRef text, llvm::StringRef fileName, Diagnostics &diagnostics);

} // namespace spmdc
