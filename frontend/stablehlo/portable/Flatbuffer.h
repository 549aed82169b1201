//===- Flatbuffer.h - what exp.serialize() writes ---------------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace spmdc::stablehlo::portable {

/// A serialized export of JAX: a FlatBuffer (jax/_src/export/serialization.fbs) around a portable artifact.
struct SerializedExport {
  llvm::StringRef artifact; ///< Within the bytes.
  /// JAX's paths of the arguments that the module has, and of the results: `args[0]['w1']`, `result[1]`. Empty if the
  /// trees are damaged.
  std::vector<std::string> arguments, results;
  std::vector<std::string> platforms; ///< In the order of their numbers: `cpu`, `cuda`.
};

/// The position of the portable artifact; nullopt if the bytes are no serialized export. The bytes may be the begin of
/// a file.
std::optional<size_t> findArtifact(llvm::StringRef bytes);

/// Nullopt if the bytes are no serialized export, or the artifact goes beyond their end.
std::optional<SerializedExport> readSerializedExport(llvm::StringRef bytes);

} // namespace spmdc::stablehlo::portable
