//===- Suggest.h - suggestions for unknown names ----------------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spmdc {

/// The candidate with this name in NumPy, JAX or Python (ForeignNames.def); else the nearest in edit distance, or empty
/// if none is near. Ignores case and underscores. Longer names may differ in more letters; short ones only by an added,
/// missing or transposed letter. Ties go to the first candidate.
std::string_view nearestName(std::string_view name, const std::vector<std::string_view> &candidates);

/// `; did you mean 'relu'?` for the nearest name, or empty if none is near.
std::string didYouMean(std::string_view name, const std::vector<std::string_view> &candidates);

/// The error about an unknown name (`what`: `function`, `name`), with the suggestion of ForeignNames.def, or else the
/// nearest candidate. `isCalled`: the name is that of a called function.
std::string unknownName(std::string_view what, std::string_view name, const std::vector<std::string_view> &candidates,
                        bool isCalled);

} // namespace spmdc
