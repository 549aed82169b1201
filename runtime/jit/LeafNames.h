//===- LeafNames.h - names of the arrays of arguments -----------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spmd {

/// The names of the arrays of a callable's arguments, in the style of JAX's `keystr`: `argument 0`, `argument 1['w']`,
/// `argument 1[2]`. `structure` is that of TraceInput: the tree structure of each argument (tree_structure), followed
/// by a comma and a space, and then other text.
std::vector<std::string> leafNames(std::string_view structure, size_t arguments);

} // namespace spmd
