//===- AxisAddition.h - additional axes of a dimension ----------*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

namespace spmdc {

/// Axes that an edit adds to the axes of a dimension: `b` makes `@(a, b)` of `@a`, or `@(b, a)` if `isMajor`.
struct AxisAddition {
  std::vector<std::string> axes; ///< Major to minor.
  bool isMajor = false;          ///< The added axes come before (major to) the present ones.

  std::vector<std::string> on(std::vector<std::string> present) const {
    present.insert(isMajor ? present.begin() : present.end(), axes.begin(), axes.end());
    return present;
  }
  /// Whether the result differs from adding the same axes as minor ones.
  bool differsOn(const std::vector<std::string> &present) const { return !isMajor || !present.empty(); }
};

/// One addition for each axis, as the minor one.
std::vector<AxisAddition> additionsOfOne(const std::vector<std::string> &axes);

/// The other additions: several of the axes in every order, and each axis as the major one.
std::vector<AxisAddition> additionsOfSeveral(const std::vector<std::string> &axes);

/// All permutations of up to three axes; for more, the given order and its reverse.
std::vector<std::vector<std::string>> ordersOf(std::vector<std::string> axes);

} // namespace spmdc
