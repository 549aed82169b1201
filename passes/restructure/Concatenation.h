//===- Concatenation.h - arrays that are parts beside one another -------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

#include <optional>

namespace spmdc {

/// Of the parts that a person concatenated, or that a derivative padded with zeros and added.
struct Concatenation {
  int64_t dim = 0;
  struct Part {
    mlir::Value value;
    int64_t start = 0;

    int64_t getSize(int64_t dim) const { return mlir::cast<ArrayType>(value.getType()).getDimSize(dim); }
  };
  llvm::SmallVector<Part> parts;               ///< By where they start; together they are the whole dimension.
  llvm::SmallVector<mlir::Operation *> movers; ///< That bring the parts to their places: the concatenation, the pads.
  llvm::SmallVector<mlir::Operation *> adders; ///< Of padded parts; the last one first.
};

/// None where the value is no join, has too many parts, or somebody else needs what it is joined from.
std::optional<Concatenation> matchConcatenation(mlir::Value value);

} // namespace spmdc
