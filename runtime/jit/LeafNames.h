//===- LeafNames.h - what the arrays of arguments are called ----*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spmd {

/// The name of each array of a callable's arguments, as JAX's `keystr` writes paths: `argument 0`, `argument 1['w']`,
/// `argument 1[2]`. `structure` is TraceInput's: the forms of the arguments (tree_structure), a comma and a space
/// behind each, and the rest.
std::vector<std::string> leafNames(std::string_view structure, size_t arguments);

} // namespace spmd
