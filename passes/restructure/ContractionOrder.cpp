//===- ContractionOrder.cpp - the order of products of an einsum ----------===//

#include "passes/restructure/ContractionOrder.h"

#include "ir/spmd/ReducePrecision.h"
#include "passes/strategy/FactorAxesLists.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>
#include <map>
#include <set>

using namespace mlir;

namespace spmdc {

std::string ContractionOrder::str() const {
  size_t operands = steps.size() + 1;
  std::vector<std::string> texts;
  for (size_t i = 0; i < operands; ++i)
    texts.push_back(std::to_string(i));
  for (const ContractionStep &step : steps)
    texts.push_back("(" + texts[step.left] + " * " + texts[step.right] + ")");
  return texts.back();
}

namespace {

/// A set of operands, one bit each.
using OperandSet = unsigned;

/// The approximate number of products of two arrays that are priced for one einsum.
constexpr size_t kMostWays = 1 << 12;
/// The least number of assignments that are tried for two arrays.
constexpr size_t kLeastAssignments = 32;

/// A plan for the product of a set of operands: the two sets that are multiplied, and the types that their products
/// get.
struct Way {
  OperandSet left = 0, right = 0;
  ArrayType leftType, rightType;
  OperationPrice price; ///< Includes the price of both operands.
};

/// The cheapest plan for a set's product in a given type.
struct Choice {
  OperationPrice price;
  Way way; ///< Without sets for a single operand.
};

/// The dynamic program for one einsum. Tables are filled on demand (`choose`, `waysOf`).
class OrderSearch {
public:
  OrderSearch(ReshardPlanner &planner, EinsumOp op)
      : planner(planner), model(planner.getModel()), op(op), rule(op.getShardingRule()), isPlain(isPerDevice(op)),
        mesh(getAutomaticMesh(op)) {
    auto note = [&](ArrayRef<int64_t> labels, const ValueFactors &factors) {
      for (auto [label, dim] : llvm::zip_equal(labels, factors))
        factorOf[label] = static_cast<size_t>(dim[0]);
    };
    for (unsigned i = 0; i < op.getNumOperands(); ++i)
      note(op.getLabelsOf(i), rule.operands[i]);
    listAssignments();
  }

  std::optional<ContractionOrder> run() {
    OperandSet all = (1U << op.getNumOperands()) - 1;
    SmallVector<int64_t> labels = labelsOf(all);
    ArrayType result = op.getType();
    SmallVector<int64_t> perm, shape;
    SmallVector<DimShardingAttr> dims;
    for (int64_t label : labels) {
      auto dim = llvm::find(op.getResultLabels(), label) - op.getResultLabels().begin();
      shape.push_back(result.getDimSize(dim));
      if (!isPlain)
        dims.push_back(result.getShardingOrOpen().getDims()[dim]);
    }
    ArrayType wanted = result.withShape(shape);
    if (!isPlain)
      wanted = wanted.withSharding(ShardingAttr::get(op.getContext(), dims, {}));
    const Choice *best = choose(all, wanted);
    if (!best)
      return std::nullopt;
    ContractionOrder order;
    order.price = best->price;
    append(all, wanted, order);
    return order;
  }

private:
  void listAssignments() {
    if (isPlain) {
      assignments.emplace_back(rule.factors.size());
      return;
    }
    std::vector<spmd::Sharding> operands;
    for (Value operand : op.getOperands())
      operands.push_back(cast<ArrayType>(operand.getType()).getShardingOrOpen().toValue());
    spmd::Sharding result = op.getType().getShardingOrOpen().toValue();
    assignments = listSuggestedFactorAxes(mesh, rule, operands, result);
    llvm::append_range(assignments, listAllFactorAxes(mesh, rule, operands, result));
    size_t splits = 1; // (3^n + 1) / 2 - 2^n pairs of sets.
    for (unsigned i = 0; i < op.getNumOperands(); ++i)
      splits *= 3;
    splits = (splits + 1) / 2 - (size_t(1) << op.getNumOperands());
    size_t most = std::max(kLeastAssignments, kMostWays / std::max<size_t>(splits, 1));
    if (assignments.size() > most)
      assignments.resize(most);
    assignments.emplace_back(rule.factors.size()); // Always expressible.
  }

  /// The labels of a set's product, ascending: those that the result or an operand outside of the set has. A single
  /// operand keeps its own labels.
  SmallVector<int64_t> labelsOf(OperandSet set) const {
    std::set<int64_t> inside, outside(op.getResultLabels().begin(), op.getResultLabels().end());
    for (unsigned i = 0; i < op.getNumOperands(); ++i)
      (set >> i & 1 ? inside : outside).insert(op.getLabelsOf(i).begin(), op.getLabelsOf(i).end());
    if (llvm::isPowerOf2_32(set))
      return SmallVector<int64_t>(op.getLabelsOf(llvm::Log2_32(set)));
    SmallVector<int64_t> labels;
    std::set_intersection(inside.begin(), inside.end(), outside.begin(), outside.end(), std::back_inserter(labels));
    return labels;
  }

  /// The type of an array with these labels under an assignment.
  ArrayType typeOf(ArrayRef<int64_t> labels, const FactorAxes &axes, const AxisRefs &reduced) const {
    std::vector<int64_t> shape;
    spmd::Sharding sharding;
    sharding.unreduced = reduced;
    for (int64_t label : labels) {
      size_t factor = factorOf.at(label);
      shape.push_back(rule.factors[factor].size);
      sharding.dims.push_back(axes[factor]);
    }
    ArrayType type = op.getType().withShape(shape);
    if (!reduced.empty())
      type = withPartialSums(op, type);
    return isPlain ? type : type.withSharding(ShardingAttr::fromValue(op.getContext(), sharding));
  }

  OperationPrice priceOfMove(ArrayType from, ArrayType to) {
    if (from == to || isPlain || from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()))
      return {};
    const CollectiveCost &cost = planner.plan(from, to).cost;
    return {model.seconds(cost, planner.getMesh().deviceCount()), cost.linkBytes};
  }

  double leastSecondsOfMove(ArrayType from, ArrayType to) const {
    if (from == to || isPlain)
      return 0;
    return planner.getLeastBytes(from, to) / static_cast<double>(planner.getMesh().deviceCount()) /
           model.link.bytesPerSecond;
  }

  /// The cheapest plan for the set's product in this type; null if every plan has an array that is too large.
  const Choice *choose(OperandSet set, ArrayType wanted) {
    auto [found, isNew] = choices.try_emplace({set, wanted.getAsOpaquePointer()});
    std::optional<Choice> &best = found->second;
    if (isNew && llvm::isPowerOf2_32(set)) {
      auto lies = cast<ArrayType>(op.getOperand(llvm::Log2_32(set)).getType());
      best = Choice{priceOfMove(lies, wanted), {}};
    } else if (isNew) {
      for (const auto &[made, way] : waysOf(set)) {
        double most = best ? (1 + CostModel::kAlike) * best->price.seconds : INFINITY;
        if (way.price.seconds > most)
          break; // All later ones are slower, too.
        if (way.price.seconds + leastSecondsOfMove(made, wanted) > most)
          continue;
        OperationPrice move = priceOfMove(made, wanted);
        Choice choice{{way.price.seconds + move.seconds, way.price.linkBytes + move.linkBytes}, way};
        if (!best || choice.price.isBetterThan(best->price))
          best = choice;
      }
    }
    return best ? &*best : nullptr;
  }

  /// Sorted by price.
  using Ways = std::vector<std::pair<ArrayType, Way>>;

  /// The cheapest plan for each type that the set's product can have; the cheapest first.
  const Ways &waysOf(OperandSet set) {
    if (auto found = ways.find(set); found != ways.end())
      return found->second;
    llvm::MapVector<ArrayType, Way> made;
    SmallVector<int64_t> labels = labelsOf(set);
    if (typeOf(labels, FactorAxes(rule.factors.size()), {}).hasAllowedSize())
      for (OperandSet left = (set - 1) & set; left; left = (left - 1) & set)
        if (OperandSet right = set & ~left; left > right)
          addWays(left, right, labels, made);
    std::vector<std::pair<double, size_t>> order;
    for (const auto &[type, way] : made)
      order.emplace_back(way.price.seconds, order.size());
    llvm::sort(order);
    Ways sorted;
    for (auto [seconds, index] : order)
      sorted.push_back(*(made.begin() + static_cast<ptrdiff_t>(index)));
    return ways[set] = std::move(sorted);
  }

  void addWays(OperandSet left, OperandSet right, ArrayRef<int64_t> labels, llvm::MapVector<ArrayType, Way> &made) {
    SmallVector<int64_t> leftLabels = labelsOf(left), rightLabels = labelsOf(right), all(leftLabels), summed;
    for (int64_t label : rightLabels)
      if (!llvm::is_contained(leftLabels, label))
        all.push_back(label);
    for (int64_t label : all)
      if (!llvm::is_contained(labels, label))
        summed.push_back(label);
    llvm::DenseSet<std::pair<Type, Type>> seen;
    for (const FactorAxes &axes : assignments) {
      Way way{left, right, typeOf(leftLabels, axes, {}), typeOf(rightLabels, axes, {}), {}};
      if (!seen.insert({way.leftType, way.rightType}).second)
        continue;
      const Choice *leftChoice = choose(left, way.leftType), *rightChoice = choose(right, way.rightType);
      if (!leftChoice || !rightChoice)
        return;
      AxisRefs reduced;
      for (int64_t label : summed)
        llvm::append_range(reduced, axes[factorOf.at(label)]);
      sortAxes(mesh, reduced);
      ArrayType product = typeOf(labels, axes, reduced);
      way.price.seconds = leftChoice->price.seconds + rightChoice->price.seconds +
                          computeSeconds(all, !summed.empty(), axes, way, product);
      way.price.linkBytes = leftChoice->price.linkBytes + rightChoice->price.linkBytes;
      auto [best, isNew] = made.insert({product, way});
      if (!isNew && way.price.isBetterThan(best->second.price))
        best->second = way;
    }
  }

  double computeSeconds(ArrayRef<int64_t> all, bool isSum, const FactorAxes &axes, const Way &way,
                        ArrayType product) const {
    double products = 1;
    for (int64_t label : all) {
      size_t factor = factorOf.at(label);
      int64_t size = rule.factors[factor].size;
      for (const spmd::AxisRef &axis : axes[factor])
        size = llvm::divideCeilSigned(size, axis.sizeIn(mesh));
      products *= static_cast<double>(size);
    }
    double bytes = 0;
    for (ArrayType type : {way.leftType, way.rightType, product})
      bytes += static_cast<double>(type.getLocalBytes(planner.getMesh()));
    return model.computeSeconds(isSum ? 2 * products : 0, bytes);
  }

  /// Appends the steps of the set's product; returns the number of its array.
  size_t append(OperandSet set, ArrayType wanted, ContractionOrder &order) {
    if (llvm::isPowerOf2_32(set))
      return llvm::Log2_32(set);
    const Way way = choose(set, wanted)->way;
    ContractionStep step;
    step.left = append(way.left, way.leftType, order);
    step.right = append(way.right, way.rightType, order);
    // Operands keep the order in which the user wrote them.
    if (llvm::countr_zero(way.right) < llvm::countr_zero(way.left))
      std::swap(step.left, step.right);
    step.labels = labelsOf(set);
    step.type = wanted;
    order.steps.push_back(step);
    return op.getNumOperands() + order.steps.size() - 1;
  }

  ReshardPlanner &planner;
  const CostModel &model;
  mutable EinsumOp op;
  const ShardingRule rule;
  const bool isPlain; ///< No array has a sharding.
  const spmd::MeshShape mesh;
  std::map<int64_t, size_t> factorOf;  ///< By label.
  std::vector<FactorAxes> assignments; ///< Assignments of axes to the factors of all labels.
  std::map<OperandSet, Ways> ways;
  std::map<std::pair<OperandSet, const void *>, std::optional<Choice>> choices; ///< By set and type; never iterated.
};

} // namespace

std::optional<ContractionOrder> findContractionOrder(ReshardPlanner &planner, EinsumOp op) {
  return OrderSearch(planner, op).run();
}

} // namespace spmdc
