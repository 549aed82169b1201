//===- UnreadTypes.h - types that no program here may have ------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace spmdc::stablehlo {

/// The first type in an exported text that MLIR 19 cannot read, or whose operations it cannot.
struct UnreadType {
  size_t offset;
  std::string message; ///< `the program has ...`, with the remedy.
};

std::optional<UnreadType> findUnreadType(llvm::StringRef text);

/// The way to export a program without dynamic shapes, or without tokens.
constexpr const char *kStaticShapes = "export it with concrete shapes: jax.export.export(f)(jax.ShapeDtypeStruct((8, "
                                      "4), x.dtype)), without jax.export.symbolic_shape";
constexpr const char *kUnorderedEffects = "export it without ordered effects: jax.debug.print without ordered=True";

} // namespace spmdc::stablehlo
