//===- ExchangedTerms.h - what a sum of moved arrays is made of -*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/spmd/SpmdOps.h"

#include <vector>

namespace spmdc {

/// An array of the program, on one device, which exchanges bring to its place in a sum.
struct ExchangedTerm {
  mlir::Value local;
  ArrayType from; ///< The array of which `local` is the piece.
  std::vector<spmd::DimMove> dims;
};

/// What a device adds itself: a value, and the operations that only move elements which lie between it and the sum,
/// the last one first.
struct OwnTerm {
  mlir::Value local;
  llvm::SmallVector<mlir::Operation *> path;
};

/// A sum, seen through additions, exchanges and local moves that nobody else uses: all terms are moved at once.
struct ExchangedSum {
  ArrayType type; ///< The sum as an array, with its sharding.
  std::vector<ExchangedTerm> terms;
  std::vector<OwnTerm> own;
  std::vector<mlir::Operation *> ops; ///< That are looked through.
};

/// Of an addition, or an exchange; without terms where that is no such sum.
ExchangedSum findExchangedSum(mlir::Value value);

} // namespace spmdc
