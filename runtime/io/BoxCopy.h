//===- BoxCopy.h - copying a box of a row-major array -----------*- C++ -*-===//
#pragma once

#include "runtime/sharding/Sharding.h"

#include <cstdint>
#include <vector>

namespace spmd {

/// Copies a box of `extent` elements from `sourceStart` of an array of `sourceShape` to `targetStart` of an array of
/// `targetShape`. Both are row-major; the box must be inside both.
void copyBox(int64_t elementBytes, const std::vector<int64_t> &extent, const void *source,
             const std::vector<int64_t> &sourceShape, const std::vector<int64_t> &sourceStart, void *target,
             const std::vector<int64_t> &targetShape, const std::vector<int64_t> &targetStart);

std::vector<int64_t> startsOf(const std::vector<ShardRange> &ranges);
std::vector<int64_t> sizesOf(const std::vector<ShardRange> &ranges);
/// Product of the sizes.
int64_t elementCount(const std::vector<int64_t> &shape);

} // namespace spmd
