//===- Portable.h - portable artifacts of StableHLO as text -----*- C++ -*-===//
//
// JAX serializes an export as MLIR bytecode of VHLO, the versioned form of StableHLO (`exp.mlir_module_serialized`),
// and as a FlatBuffer around it (`exp.serialize()`). Both become the text of StableHLO that `exp.mlir_module()` gives,
// from which everything goes on: the translation, and the places and edits of annotations. Any bytes give a text or a
// cause.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Support/LogicalResult.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace spmdc::stablehlo {

/// Whether a file with this begin is one of the two forms.
bool isPortable(llvm::StringRef begin);

/// The text of an export. On failure `cause` is the end of a sentence about the file.
mlir::FailureOr<std::string> textOfPortable(llvm::StringRef bytes, std::string &cause);

} // namespace spmdc::stablehlo
