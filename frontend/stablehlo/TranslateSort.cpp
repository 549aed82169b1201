//===- TranslateSort.cpp - sorts and top-k --------------------------------===//
//
// A sort by several keys is a stable sort by each, the last key first (Comparator.h).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Comparator.h"
#include "frontend/stablehlo/CustomCalls.h"
#include "frontend/stablehlo/TotalOrder.h"

#include "ir/array/Positions.h"

#include <limits>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// The positions that sort the array along the dimension, stable.
Value argsort(Translation &t, Value x, int64_t dim, const Key &key) {
  if (llvm::isa<FloatType>(spmdc::typeOf(x).getElementType())) {
    // Ascending, array.argsort orders numbers; descending, it orders bits.
    if (key.order == Order::bits && !key.isDescending) {
      x = toTotalOrder(t, x);
    } else if (key.order != Order::bits && key.isDescending) {
      Value zero = t.splatLike(x, 0), nan = t.splatLike(x, std::numeric_limits<double>::quiet_NaN());
      Value number = t.select(t.compare(x, spmdc::ComparisonDirection::eq, zero), zero, x);
      x = t.select(t.compare(x, spmdc::ComparisonDirection::ne, x), nan, number);
    }
  }
  return t.create<spmdc::ArgsortOp>(x, dim, key.isDescending);
}

/// The arrays in the order of a comparator of pairs of their elements; fails with a message if it is no such order.
Results sortBy(Translation &t, Operation *op, Region &comparator, ArrayRef<Value> inputs, int64_t dim) {
  SmallVector<Type> types =
      llvm::map_to_vector(inputs, [](Value input) { return spmdc::typeOf(input).getElementType(); });
  std::optional<SmallVector<Key>> keys = findKeys(t, comparator, types);
  if (!keys)
    return refuse(op, "has a comparator that is not an ascending or descending order by some of its arrays; use "
                      "jax.lax.sort, jnp.sort or jnp.lexsort");
  // Positions as the last key are the order that a stable sort keeps.
  const Key &last = keys->back();
  if (keys->size() > 1 && !last.isDescending && Translation::isIota(inputs[last.input], dim) &&
      isPositionType(types[last.input]) && holdsPositions(types[last.input], shapeOf(inputs.front())[dim]))
    keys->pop_back();
  Value order;
  for (const Key &key : llvm::reverse(*keys)) {
    Value x = inputs[key.input];
    if (!order) {
      order = argsort(t, x, dim, key);
      continue;
    }
    Value next = argsort(t, t.create<spmdc::TakeAlongOp>(x, order, dim), dim, key);
    order = t.create<spmdc::TakeAlongOp>(order, next, dim);
  }
  return llvm::map_to_vector(inputs, [&](Value input) -> Value {
    if (Translation::isIota(input, dim))
      return t.convert(order, spmdc::typeOf(input).getElementType());
    return t.create<spmdc::TakeAlongOp>(input, order, dim);
  });
}

Results sort(Translation &t, SortOp op) {
  SmallVector<Value> inputs = t.get(op.getInputs());
  ArrayRef<int64_t> shape = inputs.empty() ? ArrayRef<int64_t>() : shapeOf(inputs.front());
  auto rank = static_cast<int64_t>(shape.size()), dim = static_cast<int64_t>(op.getDimension());
  bool isAlike =
      op.getNumResults() == inputs.size() && llvm::all_of(llvm::zip(inputs, op.getResultTypes()), [&](auto pair) {
        return plainTypeOf(std::get<0>(pair)) == Translation::typeOf(std::get<1>(pair)) &&
               shapeOf(std::get<0>(pair)) == shape;
      });
  if (dim < -rank || dim >= rank || !isAlike)
    return refuse(op, "has arrays of different shapes, or sorts along a dimension that they do not have");
  return sortBy(t, op, op.getComparator(), inputs, dim + (dim < 0 ? rank : 0));
}

/// The k largest elements of the last dimension and their positions, in descending order.
Results topK(Translation &t, chlo::TopKOp op) {
  Value x = t.get(op.getOperand());
  ArrayRef<int64_t> shape = shapeOf(x);
  auto k = static_cast<int64_t>(op.getK());
  Type index = Translation::typeOf(op.getIndices().getType()).getElementType();
  bool isAlike = Translation::typeOf(op.getValues().getType()).getElementType() == spmdc::typeOf(x).getElementType();
  if (shape.empty() || k < 0 || k > shape.back() || !isPositionType(index) || !isAlike)
    return refuse(op, "takes more elements than its last dimension has, or has results of other types");
  if (!holdsPositions(index, shape.back()))
    return refuse(op, "has positions that do not fit into its i32 indices; split the dimension");
  auto dim = static_cast<int64_t>(shape.size()) - 1;
  Value order = t.sliceDim(t.create<spmdc::ArgsortOp>(x, dim, true), dim, 0, k);
  return SmallVector<Value>{t.create<spmdc::TakeAlongOp>(x, order, dim), t.convert(order, index)};
}

} // namespace

Results translateApproxTopK(Translation &t, CustomCallOp op) {
  auto config = op->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  auto along = config ? config.getAs<IntegerAttr>("reduction_dim") : IntegerAttr();
  auto called = op->getAttrOfType<ArrayAttr>("called_computations");
  auto name = called && called.size() == 1 ? llvm::dyn_cast<FlatSymbolRefAttr>(called[0]) : FlatSymbolRefAttr();
  auto comparator = name ? t.source.lookupSymbol<func::FuncOp>(name.getValue()) : func::FuncOp();
  SmallVector<Value> inputs = t.get(op.getInputs().take_front(op.getNumResults()));
  bool isAlike = along && comparator && !comparator.isExternal() && !inputs.empty() &&
                 op.getNumOperands() == 2 * op.getNumResults();
  int64_t dim = isAlike ? along.getInt() : 0, count = -1;
  for (auto [input, result] : llvm::zip_first(inputs, op.getResults())) {
    SmallVector<int64_t> shape(shapeOf(input)), kept(Translation::typeOf(result.getType()).getShape());
    isAlike &= dim >= 0 && dim < static_cast<int64_t>(shape.size()) && shape == shapeOf(inputs.front()) &&
               kept.size() == shape.size();
    if (!isAlike)
      break;
    count = kept[dim];
    isAlike &= count <= shape[dim];
    kept[dim] = shape[dim];
    isAlike &= kept == shape;
  }
  if (!isAlike)
    return refuse(op, "'ApproxTopK' has a dimension, a comparator or results that do not fit its operands");
  Results sorted = sortBy(t, op, comparator.getBody(), inputs, dim);
  if (failed(sorted))
    return failure();
  return llvm::map_to_vector(*sorted, [&](Value array) { return t.sliceDim(array, dim, 0, count); });
}

void addSortRules(Rules &rules) {
  rules.addMany<SortOp>(sort);
  rules.addMany<chlo::TopKOp>(topK);
}

} // namespace spmdc::stablehlo
