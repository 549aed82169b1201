//===- LanguageText.h - C++ values as text of the language ------*- C++ -*-===//
#pragma once

#include "runtime/api/include/spmd/sharding.h"
#include "runtime/support/DType.h"

#include <source_location>
#include <string>
#include <vector>

namespace spmd {

/// A weak float that reads back as the same number.
std::string numberText(double number);
/// `P(a, _, (b, c))`.
std::string partitionText(const P &spec);
/// `f32[8, 4]`: propagation decides how it lies.
std::string openTypeText(DType dtype, const std::vector<int64_t> &shape);
/// `f32[8@a, 4@_]`. Throws the usage error where the language has no word for the sharding (a part of an axis).
std::string shardedTypeText(DType dtype, const std::vector<int64_t> &shape, const NamedSharding &sharding);
/// `mesh m(a=4, b=2)` and the end of the line; nothing for a mesh without axes.
std::string meshText(const Mesh &mesh);
/// `train.cpp:31:7`, as messages begin.
std::string placeText(const std::source_location &where);

} // namespace spmd
