//===- ContractionOrder.h - order of products of an einsum ------*- C++ -*-===//
//
// Dynamic programming over sets of operands, as for database joins (Selinger et al. 1979) and for contractions of
// tensor networks (opt_einsum's "dp"), with shardings: a set's product is computed from the products of two sets. Both
// are resharded to one assignment of axes to labels, and multiplied; the product (unreduced axes included) is resharded
// to the type that the next product needs, and the last one to the type of the result. The cost model prices every
// plan.
//
// Worked example, einsum("kx,ly,xyc->klc", c, s, x) on a mesh (a=8) with x sharded over a along `x`: if c is multiplied
// first, the product sums over x, and partial sums of size k y c are reduced; if s is multiplied first, the product
// stays sharded along x, and the reduction has size k l c.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/strategy/Strategy.h"

namespace spmdc {

/// One product of two arrays. Arrays are numbered: the operands, then the products in program order.
struct ContractionStep {
  size_t left = 0, right = 0;
  llvm::SmallVector<int64_t> labels; ///< Labels of the product, ascending.
  ArrayType type;                    ///< Type of the product, with dimensions in that order.
};

/// An order of products with the shardings of intermediate products, and its price.
struct ContractionOrder {
  std::vector<ContractionStep> steps; ///< The last product is the result up to a transpose.
  Price price;

  /// For example `((1 * 2) * 0)`, with the numbers of operands.
  std::string str() const;
};

/// The largest number of operands for which all orders are compared.
inline constexpr unsigned kMostContracted = 6;

/// The cheapest order for an einsum of 2 to kMostContracted operands; nothing if every order has an array that exceeds
/// the size limit.
std::optional<ContractionOrder> findContractionOrder(ReshardPlanner &planner, EinsumOp op);

} // namespace spmdc
