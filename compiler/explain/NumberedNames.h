//===- NumberedNames.h - names that differ in a number ----------*- C++ -*-===//
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace spmdc {

/// Joins names with equal text behind them that differ in one number: `p[0]`, `p[1]` and `p[4]` become `p[{0,1,4}]`,
/// and from three successive numbers on `p[{0..2}]`. Joined names are joined further by their other numbers. The result
/// has the order of the first names. Each pair is a name and the text.
std::vector<std::pair<std::string, std::string>>
joinNumbered(const std::vector<std::pair<std::string, std::string>> &names);

/// The name with each number replaced by `#`: equal for names that differ in numbers only.
std::string withoutNumbers(const std::string &name);

} // namespace spmdc
