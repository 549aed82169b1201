//===- AxisAddition.h - axes more on a dimension ----------------*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

namespace spmdc {

/// Axes that a dimension may get beside those that it has.
struct AxisAddition {
  std::vector<std::string> axes; ///< Major to minor.
  bool isMajor = false;          ///< They cut the dimension before the axes that it has do.

  std::vector<std::string> on(std::vector<std::string> present) const {
    present.insert(isMajor ? present.begin() : present.end(), axes.begin(), axes.end());
    return present;
  }
  /// Whether it is something else than the same axes as the minor ones.
  bool differsOn(const std::vector<std::string> &present) const { return !isMajor || !present.empty(); }
};

/// Each of the axes by itself, as the minor one.
std::vector<AxisAddition> additionsOfOne(const std::vector<std::string> &axes);

/// What is left: several of the axes in every order, and each as the major one.
std::vector<AxisAddition> additionsOfSeveral(const std::vector<std::string> &axes);

/// Every order of the axes; of more than three only the given one and its reverse.
std::vector<std::vector<std::string>> ordersOf(std::vector<std::string> axes);

} // namespace spmdc
