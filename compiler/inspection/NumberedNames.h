//===- NumberedNames.h - names that differ in a number ----------*- C++ -*-===//
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace spmdc {

/// A name, or several that differ in numbers: `p[{0..2}]`.
struct JoinedName {
  std::string name;
  size_t first; ///< The index of the first one of them.
};

/// Joins names with equal text behind them that differ in one number: `p[0]`, `p[1]` and `p[4]` become `p[{0,1,4}]`,
/// and from three successive numbers on `p[{0..2}]`; numbers with leading zeros have equally many digits, `p_{08..11}`.
/// Joined names are joined further by their other numbers. Each pair is a name and the text; fewer than `fewest` names
/// are not joined. The result has the order of the first names.
std::vector<JoinedName> joinNumbered(const std::vector<std::pair<std::string, std::string>> &names, size_t fewest = 2);

/// The name with each number replaced by `#`: equal for names that differ in numbers only.
std::string withoutNumbers(const std::string &name);

} // namespace spmdc
