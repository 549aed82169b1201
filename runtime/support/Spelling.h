//===- Spelling.h - the name that was probably meant ------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace spmd {

/// The number of insertions, deletions, replacements and swaps of neighbours that make `b` of `a` (optimal string
/// alignment distance); O(|a| |b|).
size_t editDistance(std::string_view a, std::string_view b);

/// The candidate with the least edit distance from `name`, or nothing where none is near: at most a third of the
/// name's letters may differ (at least one, at most three). Ties go to the first candidate. Names of one letter are
/// near to every other name of one letter, so they have no nearest.
std::string_view nearestSpelling(std::string_view name, const std::vector<std::string_view> &candidates);

} // namespace spmd
