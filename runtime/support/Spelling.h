//===- Spelling.h - the nearest name ----------------------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

/// Returns the number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal
/// string alignment distance); O(|a| |b|).
size_t editDistance(std::string_view a, std::string_view b);

/// Returns the candidate with the least edit distance from `name`, or nothing if none is near; the first one wins ties.
/// Case and underscores are ignored. A name is near if at most one letter is wrong (two in longer words with the same
/// beginning, three from ten letters on); in names of at most three letters no letter may be replaced: `std` is not
/// near `sgd`. Names of one letter are near to every other name of one letter, so they have no nearest.
std::string_view nearestSpelling(std::string_view name, const std::vector<std::string_view> &candidates);

/// `; did you mean 'p.w'?` for the candidate that has the same letters, such as `p.w` for JAX's `p['w']`, or else for
/// the nearest one; empty if none is near.
std::string didYouMean(std::string_view name, const std::vector<std::string> &candidates);

} // namespace spmd
