//===- ExportContraction.cpp - products -----------------------------------===//
//
// Products of f32 are exact to f32 here; StableHLO's default precision allows XLA to round their operands on GPUs and
// TPUs, so they are written with the highest one.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/export/Exporter.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The pairs of dimensions of a product.
struct Pairs {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
};

Value product(Exporter &e, RankedTensorType type, Value lhs, Value rhs, const Pairs &pairs) {
  auto element = llvm::cast<RankedTensorType>(lhs.getType()).getElementType();
  ArrayAttr precision;
  if (element.isF32()) {
    Attribute highest = PrecisionAttr::get(e.b.getContext(), "HIGHEST");
    precision = e.b.getArrayAttr({highest, highest});
  }
  return e.create<DotGeneralOp>(type, lhs, rhs, pairs.lhsBatch, pairs.rhsBatch, pairs.lhsContract, pairs.rhsContract,
                                precision);
}

Value dotGeneral(Exporter &e, spmdc::DotGeneralOp op) {
  Pairs pairs{SmallVector<int64_t>(op.getLhsBatch()), SmallVector<int64_t>(op.getRhsBatch()),
              SmallVector<int64_t>(op.getLhsContract()), SmallVector<int64_t>(op.getRhsContract())};
  return product(e, Exporter::typeOf(op.getResult()), e.get(op.getLhs()), e.get(op.getRhs()), pairs);
}

/// A factor of an einsum, with the labels of its dimensions.
struct Factor {
  Value tensor;
  SmallVector<int64_t> labels;

  ArrayRef<int64_t> shape() const { return llvm::cast<RankedTensorType>(tensor.getType()).getShape(); }
};

/// The product of two factors: its dimensions and its number of elements, before it is written.
struct Plan {
  Pairs pairs;
  SmallVector<int64_t> labels, shape;
  int64_t size = 1;
};

/// `isKept`: whether the result or another factor has the label. Labels of one factor alone are kept.
Plan planOf(const Factor &lhs, const Factor &rhs, llvm::function_ref<bool(int64_t)> isKept) {
  Plan plan;
  auto add = [&](const Factor &factor, size_t dim) {
    plan.labels.push_back(factor.labels[dim]);
    plan.shape.push_back(factor.shape()[dim]);
    plan.size *= std::max<int64_t>(1, factor.shape()[dim]);
  };
  for (auto [dim, label] : llvm::enumerate(lhs.labels)) {
    const auto *other = llvm::find(rhs.labels, label);
    if (other == rhs.labels.end())
      continue;
    bool isBatch = isKept(label);
    (isBatch ? plan.pairs.lhsBatch : plan.pairs.lhsContract).push_back(static_cast<int64_t>(dim));
    (isBatch ? plan.pairs.rhsBatch : plan.pairs.rhsContract).push_back(other - rhs.labels.begin());
    if (isBatch)
      add(lhs, dim);
  }
  for (const Factor *factor : {&lhs, &rhs})
    for (auto [dim, label] : llvm::enumerate(factor->labels))
      if (!llvm::is_contained(factor == &lhs ? rhs.labels : lhs.labels, label))
        add(*factor, dim);
  return plan;
}

/// The pair with the smallest product is multiplied first: the order by which opt_einsum, which JAX uses, is called
/// greedy. The compiler's own order depends on shardings and is chosen later.
Value einsum(Exporter &e, spmdc::EinsumOp op) {
  SmallVector<Factor> factors;
  for (auto [number, operand] : llvm::enumerate(op.getOperands()))
    factors.push_back({e.get(operand), SmallVector<int64_t>(op.getLabelsOf(static_cast<unsigned>(number)))});
  ArrayRef<int64_t> wanted = op.getResultLabels();
  RankedTensorType type = Exporter::typeOf(op.getResult());
  while (factors.size() > 1) {
    std::optional<Plan> best;
    size_t first = 0, second = 1;
    for (size_t i = 0; i < factors.size(); ++i)
      for (size_t j = i + 1; j < factors.size(); ++j) {
        Plan plan = planOf(factors[i], factors[j], [&](int64_t label) {
          return llvm::is_contained(wanted, label) || llvm::any_of(llvm::enumerate(factors), [&](const auto &other) {
                   return other.index() != i && other.index() != j && llvm::is_contained(other.value().labels, label);
                 });
        });
        if (best && best->size <= plan.size)
          continue;
        best = std::move(plan);
        first = i;
        second = j;
      }
    Value value = product(e, RankedTensorType::get(best->shape, type.getElementType()), factors[first].tensor,
                          factors[second].tensor, best->pairs);
    factors[first] = {value, best->labels};
    factors.erase(factors.begin() + static_cast<int64_t>(second));
  }
  const Factor &all = factors.front();
  SmallVector<int64_t> perm = llvm::map_to_vector(
      wanted, [&](int64_t label) { return static_cast<int64_t>(llvm::find(all.labels, label) - all.labels.begin()); });
  if (llvm::is_sorted(perm))
    return all.tensor;
  return e.create<TransposeOp>(type, all.tensor, perm);
}

} // namespace

void addContractionExports(ExportRules &rules) {
  rules.add<spmdc::DotGeneralOp>(dotGeneral);
  rules.add<spmdc::EinsumOp>(einsum);
}

} // namespace spmdc::stablehlo
