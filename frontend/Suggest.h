//===- Suggest.h - the name that was probably meant -------------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spmdc {

/// The candidate that NumPy, JAX or Python call so (ForeignNames.def); else the nearest in edit distance, or nothing
/// where none is near. Case and underscores do not count; the longer the names, the more letters may differ, and only
/// letters too many, too few or in the wrong order in short ones. Ties go to the first candidate.
std::string_view nearestName(std::string_view name, const std::vector<std::string_view> &candidates);

/// `; did you mean 'relu'?` for the nearest name, or nothing where none is near.
std::string didYouMean(std::string_view name, const std::vector<std::string_view> &candidates);

/// The error about a name that stands for nothing (`what`: `function`, `name`), with the answer that ForeignNames.def
/// has for it, or else the nearest candidate. Names of functions are answered where they are called.
std::string unknownName(std::string_view what, std::string_view name, const std::vector<std::string_view> &candidates,
                        bool isCalled);

} // namespace spmdc
