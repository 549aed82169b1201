//===- OperationCandidates.cpp - ways to run one operation ----------------===//

#include "passes/partition/OperationCandidates.h"

#include "passes/partition/Assignments.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Assignments that are kept for an operation. On meshes of many axes there are thousands.
constexpr size_t kMostRemembered = 128;

bool ofWholeAxes(const spmd::Sharding &sharding) {
  auto areWhole = [](const AxisList &axes) {
    return llvm::all_of(axes, [](const spmd::AxisRef &axis) { return axis.isWholeAxis(); });
  };
  return areWhole(sharding.unreduced) && llvm::all_of(sharding.dims, areWhole);
}

} // namespace

std::vector<OperationCandidate> OperationCandidates::of(std::vector<FactorAxes> listed) const {
  std::vector<OperationCandidate> candidates;
  candidates.reserve(listed.size());
  for (FactorAxes &axes : listed) {
    double least = computeTime.atLeast(axes);
    candidates.push_back({std::move(axes), least});
  }
  return candidates;
}

void OperationCandidates::visitAll(const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result,
                                   llvm::function_ref<void(std::vector<OperationCandidate> &)> visit) const {
  bool mayRemember = ofWholeAxes(result) && llvm::all_of(operands, ofWholeAxes);
  bool isKnown = mayRemember && !traits.candidates.empty();
  std::vector<OperationCandidate> all =
      isKnown ? std::move(traits.candidates)
              : of(listAllAssignments(getAutomaticMesh(op), traits.rule, operands, result));
  visit(all);
  if (mayRemember && all.size() <= kMostRemembered)
    traits.candidates = std::move(all);
}

bool OperationCandidates::tryAssign(OperationCandidate &candidate) const {
  if (!candidate.isTried) {
    candidate.isTried = true;
    candidate.choice = tryAssign(candidate.axes);
    candidate.computeSeconds = candidate.choice ? computeTime.of(*candidate.choice) : 0;
  }
  return candidate.choice.has_value();
}

std::optional<OperationChoice> OperationCandidates::tryAssign(const FactorAxes &axes) const {
  OperationChoice candidate;
  candidate.axes = axes;
  for (size_t f = 0; f < axes.size(); ++f)
    if (traits.rule.factors[f].kind == FactorKind::Reduction)
      candidate.reduced.insert(candidate.reduced.end(), axes[f].begin(), axes[f].end());
  // Partial sums over the same axes are alike, in whatever order these cut what is summed.
  llvm::sort(candidate.reduced, [&](const spmd::AxisRef &x, const spmd::AxisRef &y) {
    return std::pair(mesh.indexOf(x.name), x.preSize) < std::pair(mesh.indexOf(y.name), y.preSize);
  });
  MLIRContext *context = op->getContext();
  for (size_t i = 0; i < traits.rule.operands.size(); ++i) {
    std::optional<spmd::Sharding> sharding = shardingOf(mesh, traits.rule, traits.rule.operands[i], axes);
    if (!sharding)
      return std::nullopt;
    if (op.isAddedTo(i))
      sharding->unreduced = candidate.reduced;
    candidate.operands.push_back(
        cast<ArrayType>(op->getOperand(i).getType()).withSharding(ShardingAttr::fromValue(context, *sharding)));
  }
  std::optional<spmd::Sharding> sharding = shardingOf(mesh, traits.rule, traits.rule.results[0], axes);
  if (!sharding)
    return std::nullopt;
  if (op.getReductionKind() == ReductionKind::sum)
    sharding->unreduced = candidate.reduced;
  candidate.result =
      cast<ArrayType>(op->getResult(0).getType()).withSharding(ShardingAttr::fromValue(context, *sharding));
  return candidate;
}

} // namespace spmdc
