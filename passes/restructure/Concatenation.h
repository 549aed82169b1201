//===- Concatenation.h - operands of concatenations -------------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

#include <optional>

namespace spmdc {

/// A concatenation that the user wrote, or the equivalent sum of zero-padded arrays that differentiation builds.
struct Concatenation {
  int64_t dim = 0;
  struct Part {
    mlir::Value value;
    int64_t start = 0;

    int64_t getSize(int64_t dim) const { return mlir::cast<ArrayType>(value.getType()).getDimSize(dim); }
  };
  llvm::SmallVector<Part> parts;               ///< By start; together they cover the dimension.
  llvm::SmallVector<mlir::Operation *> movers; ///< The concatenation, or the pads.
  llvm::SmallVector<mlir::Operation *> adders; ///< The additions of padded parts; the last one first.
};

/// Nothing if the value is no concatenation, has too many parts, or if its parts have other uses.
std::optional<Concatenation> matchConcatenation(mlir::Value value);

} // namespace spmdc
