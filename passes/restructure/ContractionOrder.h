//===- ContractionOrder.h - in which order an einsum multiplies -*- C++ -*-===//
//
// Dynamic programming over sets of operands, as for joins in databases (Selinger et al. 1979) and for contractions of
// tensor networks (opt_einsum's "dp"), that knows where operands lie: a set's product is made from the products of two
// sets, of which each is brought to one assignment of axes to labels, where devices multiply; what that leaves (partial
// sums included) is brought to where the next product wants it, and in the end to where the result lies. Every way is
// priced by the cost model.
//
// Worked example, einsum("kx,ly,xyc->klc", c, s, x) on a mesh (a=8) with x cut over `x`: to begin with c sums over x,
// so that partial sums of size k y c are reduced; to begin with s leaves x cut, and what is reduced has size k l c.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/strategy/Strategy.h"

namespace spmdc {

/// One product of two arrays. Arrays are numbered: the operands, then the products as they are made.
struct ContractionStep {
  size_t left = 0, right = 0;
  llvm::SmallVector<int64_t> labels; ///< Of the product, in ascending order,
  ArrayType type;                    ///< and how it lies, with its dimensions in that order.
};

struct ContractionOrder {
  std::vector<ContractionStep> steps; ///< The last one's product is the result but for the order of its dimensions.
  OperationPrice price;

  /// `((1 * 2) * 0)`: the operands by number.
  std::string str() const;
};

/// So many operands are looked at together.
inline constexpr unsigned kMostContracted = 6;

/// The cheapest order for an einsum of two operands or more, of at most kMostContracted; none where every order makes
/// an array that is larger than one may be.
std::optional<ContractionOrder> findContractionOrder(ReshardPlanner &planner, EinsumOp op);

} // namespace spmdc
