//===- Leaves.h - values made of several arrays -----------------*- C++ -*-===//
//
// A tuple, a list or a struct is a tree whose leaves are arrays and numbers (JAX calls it a pytree). Carries of loops,
// arguments of gradients, and the entry's parameters and results flatten trees to leaves, and unflatten other leaves to
// the same structure:
//
//     struct Layer { w: f32[8, 4], b: f32[4] }
//
//     value                       leaves in order   names with prefix `p`   names without
//     Layer                       w, b              p.w, p.b                w, b
//     (x, Layer)                  x, w, b           p.0, p.1.w, p.1.b       0, 1.w, 1.b
//     x                           x                 p                       (empty)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/emit/Value.h"

#include <optional>

namespace spmdc {

/// Whether the value has parts: a tuple, a list or a struct.
bool isTree(const Value &value);

/// The leaves of a value, in order; a value that is not a tree is its own leaf, an array or not.
std::vector<Value> getLeaves(const Value &value);

/// The same structure with other leaves, as many as it has. Ranges and names are those of `structure`.
Value withLeaves(const Value &structure, llvm::ArrayRef<Value> leaves);

/// The path to each leaf: fields by name, elements of tuples and lists by number, separated by dots.
std::vector<std::string> leafNames(const Value &value, llvm::StringRef prefix = "");

/// Where the structures of two values differ first, as the end of a sentence (`a Layer against a tuple of 2`, with the
/// path to it: `... at 1.w`); nullopt if they are equal. Leaves are not compared.
std::optional<std::string> structureDifference(const Value &left, const Value &right);

} // namespace spmdc
