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
constexpr size_t kMostPlans = 1 << 12;
/// The least number of assignments that are tried for two arrays.
constexpr size_t kLeastAssignments = 32;

/// A plan for the product of a set of operands: the two sets that are multiplied, and the types that their products
/// get.
struct ProductPlan {
  OperandSet left = 0, right = 0;
  ArrayType leftType, rightType;
  Price price; ///< Includes the price of both operands.
};

/// The cheapest plan for a set's product in a given type.
struct ResolvedPlan {
  Price price;
  ProductPlan productPlan; ///< Without sets for a single operand.
};

/// The dynamic program for one einsum. Tables are filled on demand (`choose`, `plansOf`).
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
    const ResolvedPlan *best = choose(all, wanted);
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
    size_t most = std::max(kLeastAssignments, kMostPlans / std::max<size_t>(splits, 1));
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

  Price priceOfMove(ArrayType from, ArrayType to) {
    if (from == to || isPlain || from.getShardingOrOpen().hasSameAxes(to.getShardingOrOpen()))
      return {};
    return model.price(planner.plan(from, to).cost, planner.getMesh().deviceCount());
  }

  double leastSecondsOfMove(ArrayType from, ArrayType to) const {
    if (from == to || isPlain)
      return 0;
    return planner.getLeastBytes(from, to) / static_cast<double>(planner.getMesh().deviceCount()) /
           model.link.bytesPerSecond;
  }

  /// The cheapest plan for the set's product in this type; null if every plan has an array that is too large.
  const ResolvedPlan *choose(OperandSet set, ArrayType wanted) {
    auto [found, isNew] = resolvedPlans.try_emplace({set, wanted.getAsOpaquePointer()});
    std::optional<ResolvedPlan> &best = found->second;
    if (isNew && llvm::isPowerOf2_32(set)) {
      auto present = cast<ArrayType>(op.getOperand(llvm::Log2_32(set)).getType());
      best = ResolvedPlan{priceOfMove(present, wanted), {}};
    } else if (isNew) {
      for (const auto &[made, productPlan] : plansOf(set)) {
        double most = best ? (1 + Price::kAlike) * best->price.seconds : INFINITY;
        if (productPlan.price.seconds > most)
          break; // All later ones are slower, too.
        if (productPlan.price.seconds + leastSecondsOfMove(made, wanted) > most)
          continue;
        ResolvedPlan resolved{productPlan.price, productPlan};
        resolved.price += priceOfMove(made, wanted);
        if (!best || resolved.price.isBetterThan(best->price))
          best = resolved;
      }
    }
    return best ? &*best : nullptr;
  }

  /// Sorted by price.
  using ProductPlans = std::vector<std::pair<ArrayType, ProductPlan>>;

  /// The cheapest plan for each type that the set's product can have; the cheapest first.
  const ProductPlans &plansOf(OperandSet set) {
    if (auto found = plans.find(set); found != plans.end())
      return found->second;
    llvm::MapVector<ArrayType, ProductPlan> made;
    SmallVector<int64_t> labels = labelsOf(set);
    if (typeOf(labels, FactorAxes(rule.factors.size()), {}).hasAllowedSize())
      for (OperandSet left = (set - 1) & set; left; left = (left - 1) & set)
        if (OperandSet right = set & ~left; left > right)
          addPlans(left, right, labels, made);
    std::vector<std::pair<double, size_t>> order;
    for (const auto &[type, productPlan] : made)
      order.emplace_back(productPlan.price.seconds, order.size());
    llvm::sort(order);
    ProductPlans sorted;
    for (auto [seconds, index] : order)
      sorted.push_back(*(made.begin() + static_cast<ptrdiff_t>(index)));
    return plans[set] = std::move(sorted);
  }

  void addPlans(OperandSet left, OperandSet right, ArrayRef<int64_t> labels,
                llvm::MapVector<ArrayType, ProductPlan> &made) {
    SmallVector<int64_t> leftLabels = labelsOf(left), rightLabels = labelsOf(right), all(leftLabels), summed;
    for (int64_t label : rightLabels)
      if (!llvm::is_contained(leftLabels, label))
        all.push_back(label);
    for (int64_t label : all)
      if (!llvm::is_contained(labels, label))
        summed.push_back(label);
    llvm::DenseSet<std::pair<Type, Type>> seen;
    for (const FactorAxes &axes : assignments) {
      ProductPlan productPlan{left, right, typeOf(leftLabels, axes, {}), typeOf(rightLabels, axes, {}), {}};
      if (!seen.insert({productPlan.leftType, productPlan.rightType}).second)
        continue;
      const ResolvedPlan *leftPlan = choose(left, productPlan.leftType),
                         *rightPlan = choose(right, productPlan.rightType);
      if (!leftPlan || !rightPlan)
        return;
      AxisRefs reduced;
      for (int64_t label : summed)
        llvm::append_range(reduced, axes[factorOf.at(label)]);
      sortAxes(mesh, reduced);
      ArrayType product = typeOf(labels, axes, reduced);
      productPlan.price = {computeSeconds(all, !summed.empty(), axes, productPlan, product), 0};
      productPlan.price += leftPlan->price;
      productPlan.price += rightPlan->price;
      auto [best, isNew] = made.insert({product, productPlan});
      if (!isNew && productPlan.price.isBetterThan(best->second.price))
        best->second = productPlan;
    }
  }

  double computeSeconds(ArrayRef<int64_t> all, bool isSum, const FactorAxes &axes, const ProductPlan &productPlan,
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
    for (ArrayType type : {productPlan.leftType, productPlan.rightType, product})
      bytes += static_cast<double>(type.getLocalBytes(planner.getMesh()));
    return model.computeSeconds(isSum ? 2 * products : 0, bytes);
  }

  /// Appends the steps of the set's product; returns the number of its array.
  size_t append(OperandSet set, ArrayType wanted, ContractionOrder &order) {
    if (llvm::isPowerOf2_32(set))
      return llvm::Log2_32(set);
    const ProductPlan productPlan = choose(set, wanted)->productPlan;
    ContractionStep step;
    step.left = append(productPlan.left, productPlan.leftType, order);
    step.right = append(productPlan.right, productPlan.rightType, order);
    // Operands keep the order in which the user wrote them.
    if (llvm::countr_zero(productPlan.right) < llvm::countr_zero(productPlan.left))
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
  std::map<OperandSet, ProductPlans> plans;
  std::map<std::pair<OperandSet, const void *>, std::optional<ResolvedPlan>>
      resolvedPlans; ///< By set and type; never iterated.
};

} // namespace

std::optional<ContractionOrder> findContractionOrder(ReshardPlanner &planner, EinsumOp op) {
  return OrderSearch(planner, op).run();
}

} // namespace spmdc
