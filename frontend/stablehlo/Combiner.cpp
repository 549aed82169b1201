//===- Combiner.cpp - how a reduction combines elements -------------------===//

#include "frontend/stablehlo/Combiner.h"

#include "frontend/stablehlo/Evaluation.h"

using namespace mlir;

namespace spmdc::stablehlo {

using Arrays = Combiner::Arrays;

/// Each result of the region combines the two elements of its own array only: the kinds, or none.
static SmallVector<ReductionKind> separateKinds(Region &body, size_t count) {
  Block &block = body.front();
  if (count == 1) {
    std::optional<ReductionKind> kind = Translation::getReductionKind(body);
    return kind ? SmallVector<ReductionKind>{*kind} : SmallVector<ReductionKind>();
  }
  SmallVector<ReductionKind> kinds;
  for (size_t i = 0; i < count; ++i) {
    Operation *combine = block.getTerminator()->getOperand(i).getDefiningOp();
    std::optional<ReductionKind> kind =
        combine ? Translation::getReductionKind(combine, block.getArgument(i), block.getArgument(count + i))
                : std::nullopt;
    if (!kind)
      return {};
    kinds.push_back(*kind);
  }
  return kinds;
}

FailureOr<Combiner> Combiner::get(Translation &t, Operation *op, Region &body, ValueRange inputs) {
  size_t count = inputs.size();
  auto elementOf = [](Type type) { return llvm::cast<RankedTensorType>(type).getElementType(); };
  auto fits = [&](TypeRange types) {
    return types.size() == count && llvm::all_of(llvm::zip_equal(types, inputs), [&](auto pair) {
             return elementOf(std::get<0>(pair)) == elementOf(std::get<1>(pair).getType());
           });
  };
  TypeRange arguments = body.getArgumentTypes();
  if (arguments.size() != 2 * count || !fits(arguments.take_front(count)) || !fits(arguments.drop_front(count)) ||
      !fits(body.front().getTerminator()->getOperandTypes()))
    return refuse(op, "has a region that does not take and give two elements of each of its arrays");
  SmallVector<ReductionKind> kinds = separateKinds(body, count);
  if (kinds.empty())
    if (Operation *other = findOtherThanScalarCode(body))
      return refuse(op, "combines elements by a region with '")
             << other->getName()
             << "', which is not computed element by element; choose by jnp.where or jax.lax.select";
  return Combiner(t, body, std::move(kinds));
}

FailureOr<Arrays> Combiner::combine(ArrayRef<Value> x, ArrayRef<Value> y) const {
  Arrays results;
  if (kinds.empty())
    return t->applyElementwise(*body, llvm::to_vector(llvm::concat<const Value>(x, y)));
  for (auto [kind, left, right] : llvm::zip_equal(kinds, x, y))
    results.push_back(t->combine(kind, left, right));
  return results;
}

FailureOr<Arrays> Combiner::reduce(ArrayRef<Value> x, ArrayRef<int64_t> dims) const {
  Arrays results(x);
  if (dims.empty())
    return results;
  if (!kinds.empty()) {
    for (auto [kind, array] : llvm::zip_equal(kinds, results))
      array = t->create<spmdc::ReduceOp>(array, kind, dims);
    return results;
  }
  // The last dimension first, so that elements are combined in row-major order.
  for (int64_t dim : llvm::reverse(dims)) {
    FailureOr<Arrays> next = reduceByTree(std::move(results), dim);
    if (failed(next))
      return failure();
    results = std::move(*next);
  }
  return results;
}

FailureOr<Arrays> Combiner::reduceByTree(Arrays x, int64_t dim) const {
  // Neighbours are combined, not halves: a sharded dimension stays where it is until few elements are left.
  Arrays last;
  for (int64_t size = shapeOf(x.front())[dim]; size > 1; size /= 2) {
    if (size % 2) {
      Arrays behind = sliceAll(*t, x, dim, size - 1, size);
      FailureOr<Arrays> both = last.empty() ? FailureOr<Arrays>(behind) : combine(behind, last);
      if (failed(both))
        return failure();
      last = std::move(*both);
    }
    int64_t end = size / 2 * 2;
    FailureOr<Arrays> pairs = combine(sliceAll(*t, x, dim, 0, end, 2), sliceAll(*t, x, dim, 1, end, 2));
    if (failed(pairs))
      return failure();
    x = std::move(*pairs);
  }
  FailureOr<Arrays> results = last.empty() ? FailureOr<Arrays>(x) : combine(x, last);
  if (failed(results))
    return failure();
  SmallVector<int64_t> shape(shapeOf(x.front()));
  shape.erase(shape.begin() + dim);
  for (Value &array : *results)
    array = t->reshape(array, shape);
  return results;
}

FailureOr<Arrays> Combiner::addInit(ValueRange inits, ArrayRef<Value> x) const {
  auto spread = [&](Value init) { return t->broadcast(t->get(init), shapeOf(x.front())); };
  if (kinds.empty())
    return combine(llvm::map_to_vector(inits, spread), x);
  Arrays results(x);
  for (auto [kind, init, array] : llvm::zip_equal(kinds, inits, results))
    if (!Translation::isNeutral(kind, init))
      array = t->combine(kind, spread(init), array);
  return results;
}

bool Combiner::areNeutral(ValueRange inits) const {
  return !kinds.empty() && llvm::all_of(llvm::zip_equal(kinds, inits), [](auto pair) {
    return Translation::isNeutral(std::get<0>(pair), std::get<1>(pair));
  });
}

Arrays sliceAll(Translation &t, ArrayRef<Value> x, int64_t dim, int64_t begin, int64_t end, int64_t stride) {
  return llvm::map_to_vector(x, [&](Value array) { return t.sliceDim(array, dim, begin, end, stride); });
}

} // namespace spmdc::stablehlo
