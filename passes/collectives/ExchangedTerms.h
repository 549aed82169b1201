//===- ExchangedTerms.h - terms of a sum of moved arrays --------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/spmd/SpmdOps.h"

#include <vector>

namespace spmdc {

/// A term of a sum that exchanges move to its positions in the sum.
struct ExchangedTerm {
  mlir::Value local;
  ArrayType from; ///< The global array of which `local` is the shard.
  std::vector<spmd::DimMove> dims;
};

/// A term of a sum that needs no exchange, because each device has its elements: a local value, and the element-moving
/// operations between it and the sum, the last one first.
struct LocalTerm {
  mlir::Value local;
  llvm::SmallVector<mlir::Operation *> path;
};

/// A sum whose terms are found through additions, exchanges and local moves that have no other use.
struct ExchangedSum {
  ArrayType type; ///< The global type of the sum, with its sharding.
  std::vector<ExchangedTerm> terms;
  std::vector<LocalTerm> own;
  std::vector<mlir::Operation *> ops; ///< The additions, exchanges and moves between the terms and the sum.
};

/// The sum that an addition or an exchange computes; without terms if it has no exchanged ones.
ExchangedSum findExchangedSum(mlir::Value value);

} // namespace spmdc
