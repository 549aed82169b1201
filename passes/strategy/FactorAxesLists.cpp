//===- FactorAxesLists.cpp - lists of factor assignments ------------------===//

#include "passes/strategy/FactorAxesLists.h"

#include "passes/reshard/ReshardState.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace spmdc {

std::vector<FactorAxes> listSuggestedFactorAxes(const spmd::MeshShape &mesh, const ShardingRule &rule,
                                                const std::vector<spmd::Sharding> &operands,
                                                const spmd::Sharding &result) {
  std::vector<std::vector<AxisRefs>> options(rule.factors.size());
  auto add = [&](const FactorAxes &axes) {
    for (size_t f = 0; f < options.size(); ++f)
      if (!axes[f].empty() && std::find(options[f].begin(), options[f].end(), axes[f]) == options[f].end())
        options[f].push_back(axes[f]);
  };
  add(projectToFactors(mesh, rule, rule.results[0], result));
  for (size_t i = 0; i < rule.operands.size(); ++i)
    add(projectToFactors(mesh, rule, rule.operands[i], operands[i]));
  std::vector<FactorAxes> assignments = {FactorAxes(rule.factors.size())};
  for (size_t f = 0; f < options.size(); ++f) {
    options[f].emplace_back();
    std::vector<FactorAxes> extended;
    for (const FactorAxes &assignment : assignments)
      for (const AxisRefs &axes : options[f]) {
        bool isFree = std::none_of(assignment.begin(), assignment.end(),
                                   [&](const AxisRefs &used) { return overlap(used, axes); });
        if (!isFree || extended.size() >= kMaxFactorAxes)
          continue;
        extended.push_back(assignment);
        extended.back()[f] = axes;
      }
    assignments = std::move(extended);
  }
  assignments.emplace_back(rule.factors.size());
  return assignments;
}

namespace {

/// Enumerates assignments: places the atoms in the given sequence, each at the minor end of a factor or at no factor.
class Placement {
public:
  Placement(const ShardingRule &rule, const Atoms &atoms)
      : rule(rule), atoms(atoms), placed(rule.factors.size()), shards(rule.factors.size(), 1) {
    for (size_t f = 0; f < rule.factors.size(); ++f)
      if (canShard(rule.factors[f]) && rule.factors[f].size > 1)
        factors.push_back(f);
  }

  /// The number of assignments for one sequence of atoms.
  double getCount() const {
    return std::pow(static_cast<double>(factors.size() + 1), static_cast<double>(atoms.count()));
  }

  void run(llvm::ArrayRef<Atom> order, std::vector<FactorAxes> &result) {
    if (depth == order.size()) {
      if (!seen.insert({placed, {}}).second)
        return;
      FactorAxes &axes = result.emplace_back();
      for (const AtomList &list : placed)
        axes.push_back(atoms.merge(list));
      return;
    }
    Atom atom = order[depth++];
    run(order, result);
    for (size_t f : factors) {
      if (shards[f] * atoms.sizeOf(atom) > rule.factors[f].size) // Some devices would have no elements.
        continue;
      placed[f].push_back(atom);
      shards[f] *= atoms.sizeOf(atom);
      run(order, result);
      shards[f] /= atoms.sizeOf(atom);
      placed[f].pop_back();
    }
    --depth;
  }

private:
  const ShardingRule &rule;
  const Atoms &atoms;
  std::vector<size_t> factors;
  std::vector<AtomList> placed;                              ///< By factor: its atoms,
  std::vector<int64_t> shards;                               ///< and the number of shards that they make.
  std::unordered_set<ReshardState, ReshardState::Hash> seen; ///< Factors take the place of dimensions.
  size_t depth = 0;
};

} // namespace

std::vector<FactorAxes> listAllFactorAxes(const spmd::MeshShape &mesh, const ShardingRule &rule,
                                          const std::vector<spmd::Sharding> &operands, const spmd::Sharding &result) {
  std::vector<const spmd::Sharding *> shardings = {&result};
  for (const spmd::Sharding &operand : operands)
    shardings.push_back(&operand);
  Atoms atoms(mesh, shardings);
  std::vector<FactorAxes> assignments;
  if (!atoms.exist())
    return assignments;
  Placement placement(rule, atoms);
  if (placement.getCount() > kMaxFactorAxes)
    return assignments;
  std::vector<Atom> order(static_cast<size_t>(atoms.count()));
  std::iota(order.begin(), order.end(), Atom{0});
  double orders = std::tgamma(static_cast<double>(order.size()) + 1);
  do
    placement.run(order, assignments);
  while (placement.getCount() * orders <= kMaxFactorAxes && std::next_permutation(order.begin(), order.end()));
  return assignments;
}

} // namespace spmdc
