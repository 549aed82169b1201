//===- FactorRanges.h - ranges of dimensions through operations --*- C++ -*-===//
//
// Who takes a range of a dimension of an operation's result needs, of each operand, a range of the dimension that has
// the same factor, or all of it. A range of a dimension of several factors is one of the major factor, in whole steps.
//
// Worked example, reshape f32[8, 96] -> f32[8, 3, 32]: the second of the three is the range 32 to 64 of the 96.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/sharding/FactorAxes.h"

namespace spmdc {

/// Elements `start` to `start + size` of a dimension.
struct DimRange {
  int64_t dim = 0, start = 0, size = 0;
};

/// The same of a factor.
struct FactorRange {
  int64_t factor = 0, start = 0, size = 0;
};

/// The factor of which the dimension's ranges are: its major one that is larger than 1. None where ranges of it are
/// none of some dimension that has it, or where the operation does more along it than to go through it or to sum.
std::optional<int64_t> findFactor(const ShardingRule &rule, const DimFactors &dim);

/// The dimension's range as one of the factor; none where it does not begin and end at whole steps.
std::optional<FactorRange> toFactorRange(const ShardingRule &rule, const ValueFactors &value, int64_t factor,
                                         DimRange part);

/// The range of a value's dimension that has the factor; none where no dimension has it.
std::optional<DimRange> toDimRange(const ShardingRule &rule, const ValueFactors &value, FactorRange part);

/// The type of that range of a value whose type is `whole`: it lies as the whole does, but for the dimension of the
/// range, which is cut as in another value of the operation, given as its range. None where no sharding says that.
std::optional<ArrayType> getRangeType(const spmd::MeshShape &mesh, const ShardingRule &rule, FactorRange part,
                                      const ValueFactors &value, ArrayType whole, const ValueFactors &other,
                                      ArrayType partOfOther);

} // namespace spmdc
