//===- SplitAttributes.h - attributes for more dimensions -------*- C++ -*-===//
//
// Updates an operation after dimensions of its arrays have been split: attributes that name dimensions by number, and
// attributes that have an entry for each dimension.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// The dimensions of one array before and after some of them are split.
class Renumbering {
public:
  Renumbering(llvm::SmallVector<int64_t, 2> split, llvm::ArrayRef<int64_t> parts)
      : split(std::move(split)), parts(parts) {}

  bool isSplit(int64_t dim) const { return llvm::is_contained(split, dim); }
  /// The new number of the dimension, or of its major part if it is split.
  int64_t first(int64_t dim) const {
    auto more = static_cast<int64_t>(parts.size()) - 1;
    return dim + more * llvm::count_if(split, [&](int64_t other) { return other < dim; });
  }
  /// The new numbers of the dimension or of its parts.
  llvm::SmallVector<int64_t> all(int64_t dim) const {
    int64_t begin = first(dim);
    return llvm::to_vector(llvm::seq(begin, begin + (isSplit(dim) ? static_cast<int64_t>(parts.size()) : 1)));
  }
  llvm::SmallVector<int64_t> all(llvm::ArrayRef<int64_t> dims) const {
    llvm::SmallVector<int64_t> result;
    for (int64_t dim : dims)
      llvm::append_range(result, all(dim));
    return result;
  }
  /// Extends a list with an entry for each dimension: a split dimension gets `entry` for each part.
  llvm::SmallVector<int64_t> spread(llvm::ArrayRef<int64_t> list, int64_t entry) const {
    return spread(list, llvm::SmallVector<int64_t>(parts.size(), entry));
  }
  llvm::SmallVector<int64_t> spread(llvm::ArrayRef<int64_t> list, llvm::ArrayRef<int64_t> entries) const {
    llvm::SmallVector<int64_t> result;
    for (auto [dim, old] : llvm::enumerate(list)) {
      if (isSplit(static_cast<int64_t>(dim)))
        llvm::append_range(result, entries);
      else
        result.push_back(old);
    }
    return result;
  }

private:
  llvm::SmallVector<int64_t, 2> split;
  llvm::ArrayRef<int64_t> parts;
};

/// Rewrites the attributes of an operation of one result whose arrays already have their new types. Returns a
/// replacement of the result if the operation itself cannot be rewritten (positions along a split dimension); null
/// otherwise.
mlir::Value splitAttributes(mlir::Operation *op, llvm::ArrayRef<Renumbering> operands, const Renumbering &result,
                            llvm::ArrayRef<int64_t> parts);

} // namespace spmdc
