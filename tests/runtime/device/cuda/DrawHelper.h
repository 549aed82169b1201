//===- DrawHelper.h - random arrays -----------------------------*- C++ -*-===//
#pragma once

#include "runtime/support/DType.h"

#include <random>
#include <vector>

namespace spmd::cuda {

/// Elements of any type: the floats include NaN of both signs, infinities, zeros of both signs and few different
/// values, so that there are ties; integers have all bit patterns.
std::vector<char> drawElements(std::mt19937 &random, DType dtype, int64_t count);
/// Finite numbers whose sums are rounded.
std::vector<char> drawNumbers(std::mt19937 &random, DType dtype, int64_t count);
/// Floats that are integers from -4 to 4, so that sums of their products are exact; any integers; few true bools.
std::vector<char> drawSmall(std::mt19937 &random, DType dtype, int64_t count);
/// Positions [-1, rows] and some far out of range, most of them below `spread`.
std::vector<char> drawIndices(std::mt19937 &random, DType dtype, int64_t count, int64_t rows, int64_t spread);
std::vector<char> makeIndices(DType dtype, const std::vector<int64_t> &values);

} // namespace spmd::cuda
