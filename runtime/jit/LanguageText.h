//===- LanguageText.h - C++ values as text of the language ------*- C++ -*-===//
#pragma once

#include "runtime/api/include/spmd/sharding.h"
#include "runtime/support/DType.h"

#include <source_location>
#include <string>
#include <vector>

namespace spmd {

/// The number as a literal (a weak float) that parses to the same value.
std::string numberText(double number);
/// `P(a, _, (b, c))`.
std::string partitionText(const P &spec);
/// `f32[8, 4]`, with open dimensions: propagation decides the sharding.
std::string openTypeText(DType dtype, const std::vector<int64_t> &shape);
/// `f32[8@a, 4@_]`. Throws a usage error if the sharding has a part of an axis, for which the language has no syntax.
std::string shardedTypeText(DType dtype, const std::vector<int64_t> &shape, const NamedSharding &sharding);
/// `mesh m(a=4, b=2)` and a newline; empty for a mesh without axes.
std::string meshText(const Mesh &mesh);
/// `train.cpp:31:7`, the beginning of a message.
std::string placeText(const std::source_location &where);

} // namespace spmd
