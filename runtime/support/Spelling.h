//===- Spelling.h - the name that was probably meant ------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace spmd {

/// The number of insertions, deletions, replacements and swaps of neighbours that make `b` of `a` (optimal string
/// alignment distance); O(|a| |b|).
size_t editDistance(std::string_view a, std::string_view b);

/// The candidate with the least edit distance from `name`, or nothing where none is near; ties go to the first. Upper
/// case and underscores make no difference. Near are names of which at most one letter is wrong (two in longer words
/// that begin alike, three from ten letters on), and in names of three letters or fewer none is replaced: `std` is no
/// `sgd`. Names of one letter are near to every other name of one letter, so they have no nearest.
std::string_view nearestSpelling(std::string_view name, const std::vector<std::string_view> &candidates);

} // namespace spmd
