//===- OpKind.h - the order in which operations propagate -------*- C++ -*-===//
//
// Classifies operations for propagation by their sharding rules; no operation is named.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/ShardingRule.h"

namespace spmdc {

/// The arrays whose axes propagate along a factor: operands (forward), results (backward), or both.
enum class Direction : unsigned { None = 0, Forward = 1, Backward = 2, Both = 3 };

struct OpKind {
  explicit OpKind(const ShardingRule &rule);

  /// All arrays have the same dimensions, each a pass-through factor of its own.
  bool isElementwise = false;
  /// Each element of the result comes from one element of each operand, perhaps at another position: element-wise
  /// operations, reshape, transpose, constraint. Such operations can take any sharding of their neighbours at no cost.
  bool isPassThrough = false;
  /// The result repeats the only operand along factors that only the result has.
  bool isBroadcast = false;
};

/// The stages of propagation (Shardy's op priorities), in order. Each includes the one before:
///
///   0  pass-through operations whose operands have no other use
///   1  pass-through operations (those whose result is smaller than an operand, such as slices, only forward)
///   2  pass-through factors of all operations (rows and columns of a product, but not its contraction)
///   3  all factors
///   4  broadcasts also forward: a broadcast is cheap to repeat, so its sharding comes from its uses first
inline constexpr unsigned kNumPriorities = 5;

/// Properties of the values around an operation that decide in which stage it propagates.
struct OpSurroundings {
  bool hasSharedOperand = false; ///< An operand has another use.
  /// The result is smaller than an operand, as that of a slice. Its sharding propagates to the operand late, because
  /// other uses of the operand may read more of it.
  bool shrinks = false;
  /// The directions that a barrier allows.
  Direction allowed = Direction::Both;
};

/// The direction in which a factor of an operation propagates in a stage.
Direction getDirection(const OpKind &kind, const Factor &factor, const OpSurroundings &surroundings, unsigned stage);

} // namespace spmdc
