//===- Comparator.h - the order of a sort -----------------------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/Translation.h"

namespace spmdc::stablehlo {

/// An order of elements. They differ in floats alone.
enum class Order {
  numbers, ///< Zeros of both signs are equal, and NaN of both signs are equal and largest, as JAX sorts.
  bits,    ///< StableHLO's TOTALORDER: -NaN, -inf, ..., -0, 0, ..., inf, NaN.
  partial, ///< Zeros of both signs are equal. Comparisons with NaN are false, so the place of NaN is not defined.
};

/// An array that a comparator orders by.
struct Key {
  size_t input;
  Order order;
  bool isDescending;
};

/// The keys of a comparator of arrays of these types, the most significant one first. The order is recognized by what
/// the comparator computes: it is evaluated for pairs of values, so that an order is found however it is written.
/// Nullopt if it is no order by some of the arrays, one after the other.
std::optional<llvm::SmallVector<Key>> findKeys(Translation &t, mlir::Region &body, llvm::ArrayRef<mlir::Type> types);

} // namespace spmdc::stablehlo
