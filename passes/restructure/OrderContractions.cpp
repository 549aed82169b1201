//===- OrderContractions.cpp - replaces einsums by products of two --------===//

#include "ir/array/Contraction.h"
#include "passes/restructure/ContractionOrder.h"
#include "passes/restructure/Passes.h"
#include "passes/strategy/FactorAxesLists.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_ORDERCONTRACTIONS
#include "passes/restructure/Passes.h.inc"

namespace {

/// The sharding of each label of an array; none within a manual region, where values are per device.
class LabelShardings {
public:
  LabelShardings(ArrayRef<int64_t> labels, ArrayType type) : plain(type.withoutSharding()) {
    isSharded = static_cast<bool>(type.getSharding());
    for (auto [dim, label] : llvm::enumerate(labels)) {
      sizes[label] = type.getDimSize(dim);
      if (isSharded)
        dims[label] = type.getSharding().getDims()[dim];
    }
  }

  ArrayType typeOf(ArrayRef<int64_t> labels) const {
    SmallVector<int64_t> shape;
    SmallVector<DimShardingAttr> shardings;
    for (int64_t label : labels) {
      shape.push_back(sizes.at(label));
      if (isSharded)
        shardings.push_back(dims.at(label));
    }
    ArrayType type = plain.withShape(shape);
    return isSharded ? type.withSharding(ShardingAttr::get(type.getContext(), shardings, {})) : type;
  }

private:
  ArrayType plain;
  bool isSharded;
  std::map<int64_t, int64_t> sizes;
  std::map<int64_t, DimShardingAttr> dims;
};

/// The arrays of an einsum.
SmallVector<Labelled> operandsOf(EinsumOp op) {
  SmallVector<Labelled> arrays;
  for (auto [index, operand] : llvm::enumerate(op.getOperands()))
    arrays.push_back({operand, SmallVector<int64_t>(op.getLabelsOf(index))});
  return arrays;
}

/// Multiplies the two operands with the smallest product. Returns the einsum of that product and the other operands.
EinsumOp multiplySmallest(EinsumOp op) {
  SmallVector<Labelled> arrays = operandsOf(op);
  auto labelsOfTwo = [&](size_t i, size_t j) {
    return labelsOfPair(arrays[i].labels, arrays[j].labels, [&](int64_t label) {
      return llvm::is_contained(op.getResultLabels(), label) || llvm::any_of(llvm::enumerate(arrays), [&](auto other) {
               return other.index() != i && other.index() != j && other.value().has(label);
             });
    });
  };
  std::pair<size_t, size_t> best;
  double least = INFINITY;
  for (size_t i = 0; i < arrays.size(); ++i)
    for (size_t j = i + 1; j < arrays.size(); ++j) {
      double size = 1;
      for (int64_t label : labelsOfTwo(i, j))
        size *= static_cast<double>(arrays[arrays[i].has(label) ? i : j].sizeOf(label));
      if (size < least) {
        least = size;
        best = {i, j};
      }
    }
  auto [i, j] = best;
  // The product gets the first sharding that the einsum's result and operands suggest.
  Labelled product{{}, labelsOfTwo(i, j)};
  SmallVector<int64_t> shape;
  spmd::Sharding sharding;
  bool isSharded = static_cast<bool>(op.getType().getSharding());
  ShardingRule rule = op.getShardingRule();
  std::vector<spmd::Sharding> operands;
  for (const Labelled &array : arrays)
    operands.push_back(typeOf(array.array).getShardingOrOpen().toValue());
  FactorAxes axes =
      listSuggestedFactorAxes(getAutomaticMesh(op), rule, operands, op.getType().getShardingOrOpen().toValue()).front();
  for (int64_t label : product.labels) {
    size_t from = arrays[i].has(label) ? i : j;
    auto dim = llvm::find(arrays[from].labels, label) - arrays[from].labels.begin();
    shape.push_back(arrays[from].sizeOf(label));
    sharding.dims.push_back(axes[rule.operands[from][dim][0]]);
  }
  ArrayType type = op.getType().withShape(shape);
  if (isSharded)
    type = type.withSharding(ShardingAttr::fromValue(op.getContext(), sharding));
  OpBuilder builder(op);
  auto build = [&](ArrayType result, ArrayRef<Labelled> of, ArrayRef<int64_t> resultLabels) {
    SmallVector<Value> values;
    SmallVector<SmallVector<int64_t>> labels;
    for (const Labelled &array : of) {
      values.push_back(array.array);
      labels.push_back(array.labels);
    }
    return builder.create<EinsumOp>(op.getLoc(), result, values, labels, resultLabels);
  };
  product.array = build(type, {arrays[i], arrays[j]}, product.labels);
  arrays.erase(arrays.begin() + static_cast<ptrdiff_t>(j));
  arrays[i] = product;
  EinsumOp rest = build(op.getType(), arrays, op.getResultLabels());
  rest->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.replaceAllUsesWith(rest.getResult());
  op.erase();
  return rest;
}

/// Replaces the einsum by products of two.
void build(EinsumOp op, const ContractionOrder &order) {
  OpBuilder builder(op);
  SmallVector<Labelled> arrays = operandsOf(op);
  for (const ContractionStep &step : order.steps) {
    LabelShardings labelShardings(step.labels, step.type);
    auto isKept = [&](int64_t label) { return llvm::is_contained(step.labels, label); };
    // The last product takes its operands in the order that saves the final transpose, if there is one.
    size_t left = step.left, right = step.right;
    auto isResult = [&](const Labelled &x, const Labelled &y) {
      return ArrayRef<int64_t>(labelsOfPair(x.labels, y.labels, isKept)) == op.getResultLabels();
    };
    bool isLast = &step == &order.steps.back();
    if (isLast && !isResult(arrays[left], arrays[right]) && isResult(arrays[right], arrays[left]))
      std::swap(left, right);
    arrays.push_back(contractPair(builder, op.getLoc(), arrays[left], arrays[right], isKept,
                                  [&](ArrayRef<int64_t> labels) { return labelShardings.typeOf(labels); }));
  }
  LabelShardings labelShardings(op.getResultLabels(), op.getType());
  Value result = transposeTo(builder, op.getLoc(), arrays.back(), op.getResultLabels(),
                             [&](ArrayRef<int64_t> labels) { return labelShardings.typeOf(labels); });
  result.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.replaceAllUsesWith(result);
  op.erase();
}

class OrderContractionsPass : public impl::OrderContractionsBase<OrderContractionsPass> {
public:
  using OrderContractionsBase::OrderContractionsBase;

private:
  void runOnOperation() override {
    auto &planner = getAnalysis<ReshardPlanner>();
    known.clear();
    SmallVector<EinsumOp> einsums;
    getOperation().walk([&](EinsumOp op) { einsums.push_back(op); });
    for (size_t next = 0; next < einsums.size(); ++next) {
      EinsumOp op = einsums[next];
      while (op.getNumOperands() > kMostContracted) {
        op = multiplySmallest(op);
        einsums.push_back(cast<EinsumOp>(op->getPrevNode()));
      }
      std::optional<ContractionOrder> order = find(planner, op);
      if (!order) {
        op.emitError("in every order of the products of this einsum some array would have more than 2^56 bytes");
        return signalPassFailure();
      }
      if (remarks && order->steps.size() > 1)
        op.emitRemark() << "einsum multiplies its operands as " << order->str();
      build(op, *order);
    }
  }

  /// Caches the order of equal einsums.
  std::optional<ContractionOrder> find(ReshardPlanner &planner, EinsumOp op) {
    SmallVector<Attribute> key = {op.getLabels(), op.getResultLabelsAttr(), TypeAttr::get(op.getType())};
    for (Type type : op->getOperandTypes())
      key.push_back(TypeAttr::get(type));
    // The manual region around the einsum restricts the axes.
    key.push_back(MeshAttr::fromValue(&getContext(), "", getAutomaticMesh(op)));
    auto [found, isNew] = known.try_emplace(ArrayAttr::get(&getContext(), key));
    if (isNew)
      found->second = findContractionOrder(planner, op);
    return found->second;
  }

  llvm::DenseMap<Attribute, std::optional<ContractionOrder>> known; ///< Never iterated.
};

} // namespace
} // namespace spmdc
