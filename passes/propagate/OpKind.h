//===- OpKind.h - in which order operations propagate -----------*- C++ -*-===//
//
// What propagation must know of an operation beyond its factors, read off the rule: no operation is named.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/ShardingRule.h"

namespace spmdc {

/// Which arrays may pass axes on along a factor: operands (forward), results (backward), or both.
enum class Direction : unsigned { None = 0, Forward = 1, Backward = 2, Both = 3 };

struct OpKind {
  explicit OpKind(const ShardingRule &rule);

  /// All arrays have the same dimensions, each a pass-through factor of its own.
  bool isElementwise = false;
  /// Each element of the result is one of each operand, perhaps elsewhere: element-wise operations, reshape, transpose,
  /// constraint. Such operations follow their surroundings at no cost.
  bool isPassThrough = false;
  /// One operand, repeated along factors that only the result has.
  bool isBroadcast = false;
};

/// The stages of propagation, in order. Each lets through all that the one before did, and more:
///
///   0  pass-through operations none of whose operands has another use
///   1  pass-through operations (what takes a part of an array, as slices do, only forward)
///   2  pass-through factors of all operations (rows and columns of a product, but not its contraction)
///   3  all factors
///   4  broadcasts also forward: what is cheap to repeat follows its use, not its source
inline constexpr unsigned kNumStages = 5;

/// What the values around an operation say of when it propagates.
struct OpSurroundings {
  bool hasSharedOperand = false; ///< An operand has another use.
  /// The result is a part of an operand: what cuts it comes late to the operand, of which others may use more.
  bool shrinks = false;
  /// What a barrier lets through.
  Direction allowed = Direction::Both;
};

/// Which way a factor of an operation propagates in a stage.
Direction getDirection(const OpKind &kind, const Factor &factor, const OpSurroundings &surroundings, unsigned stage);

} // namespace spmdc
