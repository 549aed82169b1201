//===- ResultNames.h - arrays to which a name refers ------------*- C++ -*-===//
//
// A plan lists the arrays of its results, those of a struct as `p.w`, `p.layers.0.b`. A result has two names: the plain
// name that the program returned, and its index among the results. With `return (p, loss)` and `struct { w, b }`,
// result 0 is `p` (the arrays `p.w` and `p.b`), and result 1 is `loss`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spmd {

/// An array to which a name refers, and its key below that name.
struct NamedLeaf {
  size_t index = 0;     ///< Among the plan's arrays.
  std::string key;      ///< `w` of `p.w` for the name `p`; the full name if the name is that of an array.
  bool isField = false; ///< Whether the name is that of a struct, and the array one of its fields.
};

/// Returns for each array the number of its result. Arrays with the same name before the first dot belong to one
/// result, and are consecutive.
std::vector<size_t> resultNumbers(const std::vector<ValueInfo> &values);

/// Returns the arrays to which `name` refers: one array, or all arrays of a struct or of a nested struct. Empty if
/// there is none.
std::vector<NamedLeaf> findLeavesByName(const std::vector<ValueInfo> &values, std::string_view name);

/// Like findLeavesByName, for results: `name` may also begin with a result's index (`0`, `0.w`). A name has precedence
/// over an index.
std::vector<NamedLeaf> findLeaves(const std::vector<ValueInfo> &values, std::string_view name);

} // namespace spmd
