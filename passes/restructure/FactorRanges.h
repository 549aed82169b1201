//===- FactorRanges.h - ranges of dimensions through operations -*- C++ -*-===//
//
// A range of a dimension of an operation's result depends, in each operand, on a range of the dimension with the same
// factor, or on all elements. A range of a dimension with several factors is a range of the major factor, in
// full steps.
//
// Worked example, reshape f32[8, 96] -> f32[8, 3, 32]: the second of the three is the range 32 to 64 of the 96.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/sharding/FactorAxes.h"

namespace spmdc {

/// Elements `start` to `start + size - 1` of a dimension.
struct DimRange {
  int64_t dim = 0, start = 0, size = 0;
};

/// Elements `start` to `start + size - 1` of a factor.
struct FactorRange {
  int64_t factor = 0, start = 0, size = 0;
};

/// The major factor of a dimension, the first one larger than 1: a range of the dimension in full steps is a range of
/// this factor. Nothing if the factor is not the major one in some dimension that has it, or if the operation neither
/// maps over it nor reduces it.
std::optional<int64_t> findFactor(const ShardingRule &rule, const DimFactors &dim);

/// The dimension's range as a range of the factor; nothing if it does not begin and end at full steps.
std::optional<FactorRange> toFactorRange(const ShardingRule &rule, const ValueFactors &value, int64_t factor,
                                         DimRange part);

/// The range of the dimension of a value that has the factor; nothing if no dimension has it.
std::optional<DimRange> toDimRange(const ShardingRule &rule, const ValueFactors &value, FactorRange part);

/// The type of the range `part` of a value of type `full`. The range's dimension is sharded as in another value of the
/// operation, whose range has type `partOfOther`; other dimensions keep their sharding. Nothing if no sharding
/// expresses that.
std::optional<ArrayType> getRangeType(const spmd::MeshShape &mesh, const ShardingRule &rule, FactorRange part,
                                      const ValueFactors &value, ArrayType full, const ValueFactors &other,
                                      ArrayType partOfOther);

} // namespace spmdc
