//===- CaseHelper.cpp - a collective with all operands --------------------===//

#include "CaseHelper.h"
#include "runtime/collective/Movement.h"

#include <algorithm>

namespace spmd::test {

static std::vector<int64_t> sizesOf(const Case &c) {
  std::vector<int64_t> sizes;
  for (const AxisRef &axis : c.desc.axes)
    sizes.push_back(axis.sizeIn(c.mesh));
  return sizes;
}

Case makeCase(const MeshShape &mesh, CollectiveKind kind, DType dtype, ReductionKind reduction,
              const std::vector<AxisRef> &axes, std::vector<int64_t> full, int32_t dim, std::mt19937_64 &random) {
  Case c{mesh, {}, {}};
  c.desc.kind = kind;
  c.desc.reduction = reduction;
  c.desc.dtype = dtype;
  c.desc.axes = axes;
  std::vector<int64_t> small = full, sizes = sizesOf(c);
  small[dim] = localDimSize(full[dim], sizes);
  switch (kind) {
  case CollectiveKind::AllGather:
    c.desc.operandShape = small;
    c.desc.resultShape = full;
    c.desc.concatDim = dim;
    break;
  case CollectiveKind::ReduceScatter:
    c.desc.operandShape = full;
    c.desc.resultShape = small;
    c.desc.splitDim = dim;
    break;
  case CollectiveKind::AllToAll: {
    c.desc.splitDim = dim;
    c.desc.concatDim = static_cast<int32_t>((dim + 1) % full.size());
    int32_t concat = c.desc.concatDim;
    c.desc.operandShape = full;
    c.desc.resultShape = small;
    if (full.size() > 1)
      c.desc.operandShape[concat] = localDimSize(full[concat], sizes);
    else
      c.desc.resultShape = {small[0] * static_cast<int64_t>(groupOf(mesh, axes, 0).size())};
    break;
  }
  default:
    c.desc.operandShape = c.desc.resultShape = full;
  }
  if (kind == CollectiveKind::CollectivePermute) {
    auto n = static_cast<int64_t>(groupOf(mesh, axes, 0).size());
    // A shift that leaves the first position without a source.
    for (int64_t i = 0; i + 1 < n; ++i)
      c.desc.pairs.push_back({i, i + 1});
  }
  if (kind == CollectiveKind::CollectiveBroadcast)
    c.desc.root = static_cast<int64_t>(random() % groupOf(mesh, axes, 0).size());
  for (int64_t p = 0; p < mesh.deviceCount(); ++p)
    c.operands.push_back(makeValue(dtype, c.desc.operandShape, random));
  return c;
}

std::vector<ReductionKind> reductionsOf(DType dtype) {
  if (dtype == DType::Key)
    return {};
  std::vector<ReductionKind> kinds{ReductionKind::Sum, ReductionKind::Prod, ReductionKind::Max, ReductionKind::Min};
  if (!isFloat(dtype)) {
    kinds.push_back(ReductionKind::And);
    kinds.push_back(ReductionKind::Or);
  }
  return kinds;
}

std::vector<Case> makeRandomCases(const MeshShape &mesh, int count, std::mt19937_64 &random) {
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    std::vector<AxisRef> axes{{"a"}, {"b"}, {"c"}};
    std::shuffle(axes.begin(), axes.end(), random);
    axes.resize(1 + random() % 3);
    // All kinds but exchange.
    auto kind = static_cast<CollectiveKind>(random() % 6);
    if (kind == CollectiveKind::Exchange)
      kind = CollectiveKind::CollectiveBroadcast;
    DType dtype = elementTypes()[random() % elementTypes().size()];
    std::vector<int64_t> shape;
    for (size_t d = 0; d < 1 + random() % 3; ++d)
      shape.push_back(1 + static_cast<int64_t>(random() % (random() % 4 == 0 ? 30 : 9)));
    if (random() % 4 == 0)
      shape = {20'000 + static_cast<int64_t>(random() % 9999), 1 + static_cast<int64_t>(random() % 3)};
    auto reductions = reductionsOf(dtype);
    cases.push_back(makeCase(mesh, kind, dtype, reductions[random() % reductions.size()], axes, shape,
                             static_cast<int32_t>(random() % shape.size()), random));
  }
  return cases;
}

} // namespace spmd::test
