//===- TranslateSort.cpp - sort and top_k ---------------------------------===//
//
// A comparator is recognized by what it computes: it is evaluated for pairs of values of each operand. It may compare
// one operand, or several one after the other, each ascending or descending. The sort is then a stable argsort of each
// key, the least significant first, and the operands are read along it.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Evaluation.h"
#include "frontend/stablehlo/TotalOrder.h"

#include "ir/array/Positions.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// How a comparator orders the operands.
struct Order {
  SmallVector<bool> descending; ///< One for each key; the keys are the first operands.
  bool isTotal = false;         ///< Floats by their bits: -0 before 0.
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Scalar> testValues(Type type) {
  std::vector<Scalar> values;
  if (llvm::isa<FloatType>(type)) {
    for (double value : {-kInfinity, -1.0, -0.0, 0.0, 1.0, kInfinity, std::numeric_limits<double>::quiet_NaN()})
      values.push_back(Scalar::ofFloat(value));
    return values;
  }
  for (int64_t value : {0, 1, 2, -1, -100})
    values.push_back(roundTo(Scalar::ofInt(value), type));
  return values;
}

bool isNan(Type type, Scalar value) { return llvm::isa<FloatType>(type) && std::isnan(value.f); }

/// -1, 0 or 1. NaN is larger than any number, and equal to NaN.
int compareValues(Type type, bool isTotal, Scalar x, Scalar y) {
  if (!llvm::isa<FloatType>(type))
    return x.i < y.i ? -1 : x.i > y.i;
  if (std::isnan(x.f) || std::isnan(y.f))
    return std::isnan(x.f) - std::isnan(y.f);
  if (isTotal && x.f == 0 && y.f == 0)
    return int(std::signbit(y.f)) - int(std::signbit(x.f));
  return x.f < y.f ? -1 : x.f > y.f;
}

/// The values of both elements of each operand, for all points.
struct TestPoints {
  std::vector<std::vector<Scalar>> left, right;
  size_t size = 0;

  /// All pairs of values of one operand, beside a smaller, an equal and a larger element of each other one.
  static TestPoints make(ArrayRef<Type> types) {
    TestPoints points;
    points.left.resize(types.size());
    points.right.resize(types.size());
    for (size_t varied = 0; varied < types.size(); ++varied)
      for (Scalar x : testValues(types[varied]))
        for (Scalar y : testValues(types[varied])) {
          SmallVector<int64_t> others(types.size(), 0), counts(types.size(), 3);
          counts[varied] = 1;
          do {
            for (size_t i = 0; i < types.size(); ++i) {
              auto number = [&](bool isOne) {
                return llvm::isa<FloatType>(types[i]) ? Scalar::ofFloat(isOne) : Scalar::ofInt(isOne);
              };
              points.left[i].push_back(i == varied ? x : number(others[i] == 2));
              points.right[i].push_back(i == varied ? y : number(others[i] == 1));
            }
            ++points.size;
          } while (nextIndex(others, counts));
        }
    return points;
  }
};

/// Whether the comparator's results are those of the order. A plain comparison of floats is false for NaN: then the
/// place of NaN is not defined, and they are last here.
bool isOrder(ArrayRef<Type> types, const TestPoints &points, const Tensor &results, const Order &order) {
  bool agrees = true, ignoresNan = true;
  for (size_t k = 0; k < points.size; ++k) {
    bool isLess = false, hasNan = false;
    for (auto [key, isDescending] : llvm::enumerate(order.descending)) {
      Scalar x = points.left[key][k], y = points.right[key][k];
      hasNan |= isNan(types[key], x) || isNan(types[key], y);
      int sign = compareValues(types[key], order.isTotal, x, y);
      if (sign != 0) {
        isLess = (sign < 0) != isDescending;
        break;
      }
    }
    bool isSame = (results.elements[k].i != 0) == isLess;
    if (!isSame && !hasNan)
      return false;
    agrees &= isSame;
    ignoresNan &= !hasNan || results.elements[k].i == 0;
  }
  return agrees || ignoresNan;
}

/// The most operands of a comparator that are tried as keys; the points grow threefold with each.
constexpr size_t kMaxKeys = 6;

std::optional<Order> findOrder(Translation &t, SortOp op) {
  SmallVector<Type> types = llvm::map_to_vector(
      op.getInputs(), [](Value input) { return Translation::typeOf(input.getType()).getElementType(); });
  if (types.size() > kMaxKeys)
    return std::nullopt;
  TestPoints points = TestPoints::make(types);
  SmallVector<Points> arguments;
  for (size_t i = 0; i < types.size(); ++i) {
    arguments.push_back({types[i], points.left[i]});
    arguments.push_back({types[i], points.right[i]});
  }
  auto results = evaluateElementwise(t, op.getComparator(), arguments);
  if (failed(results) || results->size() != 1 || !results->front().elementType.isInteger(1))
    return std::nullopt;
  for (size_t keys = 1; keys <= types.size(); ++keys)
    for (unsigned directions = 0; directions < (1u << keys); ++directions)
      for (bool isTotal : {false, true}) {
        Order order;
        order.isTotal = isTotal;
        for (size_t key = 0; key < keys; ++key)
          order.descending.push_back(directions >> key & 1);
        if (isOrder(types, points, results->front(), order))
          return order;
      }
  return std::nullopt;
}

/// The key by which argsort orders as the comparator does.
Value keyOf(Translation &t, Value array, bool isTotal, bool isDescending) {
  if (!llvm::isa<FloatType>(typeOf(array).getElementType()))
    return array;
  if (isTotal)
    return toTotalOrder(t, array);
  // A descending argsort tells the zeros apart; added to 0, both are 0.
  return isDescending ? t.create<spmdc::AddOp>(array, t.splatLike(array, 0)).getResult() : array;
}

Value argsort(Translation &t, Value array, int64_t dim, bool isDescending) {
  ArrayType type = plainTypeOf(array).withElementType(getPositionType(t.b.getContext(), shapeOf(array)[dim]));
  return t.create<spmdc::ArgsortOp>(type, array, dim, isDescending);
}

Results sort(Translation &t, SortOp op) {
  SmallVector<Value> inputs = t.get(op.getInputs());
  if (inputs.empty() || op.getComparator().getNumArguments() != 2 * inputs.size() ||
      op.getComparator().front().getTerminator()->getNumOperands() != 1 ||
      llvm::any_of(inputs, [&](Value input) { return shapeOf(input) != shapeOf(inputs.front()); }))
    return refuse(op, "has operands of different shapes, or a comparator that does not fit them");
  auto rank = static_cast<int64_t>(shapeOf(inputs.front()).size()), dim = static_cast<int64_t>(op.getDimension());
  if (dim < -rank || dim >= rank)
    return refuse(op, "sorts along a dimension that its operands do not have");
  dim += dim < 0 ? rank : 0;
  std::optional<Order> order = findOrder(t, op);
  if (!order)
    return refuse(
        op, "has a comparator that is no order of its operands, one after the other; sort by jnp.sort, jnp.argsort "
            "or jax.lax.sort");
  Value positions;
  for (size_t key = order->descending.size(); key-- > 0;) {
    bool isDescending = order->descending[key];
    Value values = positions ? t.create<spmdc::TakeAlongOp>(inputs[key], positions, dim).getResult() : inputs[key];
    Value sorted = argsort(t, keyOf(t, values, order->isTotal, isDescending), dim, isDescending);
    positions = positions ? t.create<spmdc::TakeAlongOp>(positions, sorted, dim).getResult() : sorted;
  }
  SmallVector<Value> results;
  for (auto [input, source] : llvm::zip_equal(inputs, op.getInputs())) {
    bool isPositions = Translation::isIota(source, dim) && llvm::isa<IntegerType>(typeOf(input).getElementType());
    results.push_back(isPositions ? t.convert(positions, typeOf(input).getElementType())
                                  : t.create<spmdc::TakeAlongOp>(input, positions, dim).getResult());
  }
  return results;
}

Results topK(Translation &t, chlo::TopKOp op) {
  Value x = t.get(op.getOperand());
  auto dim = static_cast<int64_t>(shapeOf(x).size()) - 1, k = static_cast<int64_t>(op.getK());
  if (dim < 0 || k < 0 || k > shapeOf(x)[dim])
    return refuse(op, "takes more elements than its last dimension has");
  Value positions = t.sliceDim(argsort(t, x, dim, /*isDescending=*/true), dim, 0, k);
  Value values = t.create<spmdc::TakeAlongOp>(x, positions, dim);
  return SmallVector<Value>{values,
                            t.convert(positions, Translation::typeOf(op.getIndices().getType()).getElementType())};
}

} // namespace

void addSortRules(Rules &rules) {
  rules.addMany<SortOp>(sort);
  rules.addMany<chlo::TopKOp>(topK);
}

} // namespace spmdc::stablehlo
