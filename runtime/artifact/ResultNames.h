//===- ResultNames.h - which arrays a name stands for -----------*- C++ -*-===//
//
// A plan lists the arrays of its results, those of a struct as `p.w`, `p.layers.0.b`. A result is known by the plain
// name that it was returned as, and by its index among the results: of `return (p, loss)` with `struct { w, b }` result
// 0 is `p` (the arrays `p.w` and `p.b`), result 1 is `loss`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spmd {

/// An array that a name stands for, and its key below that name.
struct NamedLeaf {
  size_t index = 0; ///< Among the plan's arrays.
  std::string key;  ///< `w` of `p.w` for the name `p`; the whole name where the name is that of an array.
  bool isField = false;
};

/// For each array the number of the result that it belongs to: arrays with the same name before the first point are of
/// one result, and stand together.
std::vector<size_t> resultNumbers(const std::vector<ValueInfo> &values);

/// The arrays that `name` stands for: an array, a struct (all its arrays), or a struct in one. Empty: there is nothing
/// of that name.
std::vector<NamedLeaf> findLeavesByName(const std::vector<ValueInfo> &values, std::string_view name);

/// The same, of results, where `name` may also begin with a result's index (`0`, `0.w`). A name goes before an index.
std::vector<NamedLeaf> findLeaves(const std::vector<ValueInfo> &values, std::string_view name);

} // namespace spmd
