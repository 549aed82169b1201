//===- CaseHelper.h - a collective with all operands ------------*- C++ -*-===//
#pragma once

#include "ExpectHelper.h"
#include "tests/support/ElementTypes.h"

namespace spmd::test {

struct Case {
  MeshShape mesh;
  CollectiveDesc desc;
  std::vector<Value> operands; ///< By position.
};

/// Fills in local shapes and operands: `full` is the larger of operand and result.
Case makeCase(const MeshShape &mesh, CollectiveKind kind, DType dtype, ReductionKind reduction,
              const std::vector<AxisRef> &axes, std::vector<int64_t> full, int32_t dim, std::mt19937_64 &random);

/// Returns the reductions that are defined for a type.
std::vector<ReductionKind> reductionsOf(DType dtype);

/// Makes cases of all kinds, types and sizes, over the axes a, b and c.
std::vector<Case> makeRandomCases(const MeshShape &mesh, int count, std::mt19937_64 &random);

} // namespace spmd::test
