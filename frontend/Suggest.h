//===- Suggest.h - the name that was probably meant -------------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spmdc {

/// The candidate that NumPy, JAX or Python call so; else the nearest in edit distance, or nothing where none is near:
/// at most a third of the name's letters may differ (at least one, at most three). Ties go to the first candidate.
std::string_view nearestName(std::string_view name, const std::vector<std::string_view> &candidates);

/// `; did you mean 'relu'?` for the nearest name, or nothing where none is near.
std::string didYouMean(std::string_view name, const std::vector<std::string_view> &candidates);

} // namespace spmdc
