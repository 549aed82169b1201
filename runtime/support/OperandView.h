//===- OperandView.h - where a product's operand is in an array -*- C++ -*-===//
//
// An operand of a matrix product need not be a matrix in memory. The patches of a convolution overlap, the heads of an
// attention are between positions and features, a slice has gaps: all of these have each element of row i and column j
// at a position f(i) + g(j) of an array. The product reads them there, and no copy is made.
//
// f and g read a number as digits: with digits of sizes 5 and 8 the number 19 is 2 * 8 + 3, and its position is 2 and 3
// times the strides of these digits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace spmd {

struct ViewDigit {
  int64_t size = 1, stride = 0;
  auto operator<=>(const ViewDigit &) const = default;
};
using ViewDigits = std::vector<ViewDigit>; ///< The most significant one first.

/// How many numbers the digits can write.
int64_t countOf(const ViewDigits &digits);
/// The position of a number, in elements.
int64_t positionOf(const ViewDigits &digits, int64_t number);

/// An operand [batch, rows, columns]; strides are not negative.
struct OperandView {
  int64_t offset = 0; ///< Of the first element.
  ViewDigits batch, rows, columns;

  auto operator<=>(const OperandView &) const = default;
  /// Whether this says nothing: the operand is the array itself, in the order of its elements.
  bool isEmpty() const { return *this == OperandView(); }
  /// Whether the operand has this shape [batch, rows, columns], and is inside an array of this many elements. Takes any
  /// numbers.
  bool fits(const std::vector<int64_t> &shape, int64_t elements) const;
  std::string str() const;
};

} // namespace spmd
