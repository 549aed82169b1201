//===- TranslateReduction.cpp - stablehlo.reduce --------------------------===//
//
// Regions that combine two elements by one operation are reductions of a kind, and others trees of their operations
// (Combiner.h). A region of values and positions is recognized by what it computes: it is evaluated for pairs of values
// in both orders, so that argmax and argmin are found however they are written.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Combiner.h"
#include "frontend/stablehlo/Evaluation.h"

#include "ir/array/Positions.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Elements (value, position) that tell argmax from argmin and from anything else: ties, NaN, infinities.
struct Elements {
  std::vector<Scalar> values, positions;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Elements testElements(Type type) {
  std::vector<Scalar> values;
  if (llvm::isa<FloatType>(type))
    for (double value : {-kInfinity, -1.0, 0.0, 2.0, kInfinity, std::numeric_limits<double>::quiet_NaN()})
      values.push_back(Scalar::ofFloat(value));
  else
    for (int64_t value : {0, 1, 2, 100})
      values.push_back(roundTo(Scalar::ofInt(value), type));
  Elements elements;
  for (Scalar value : values)
    for (int64_t position : {0, 1, 7}) {
      elements.values.push_back(value);
      elements.positions.push_back(Scalar::ofInt(position));
    }
  return elements;
}

/// Whether element x comes before y in the order of argmax (argmin): larger (smaller) value, NaN first, then position.
bool comesFirst(Type type, bool isMax, Scalar x, int64_t xPosition, Scalar y, int64_t yPosition) {
  bool isFloat = llvm::isa<FloatType>(type);
  bool xNaN = isFloat && std::isnan(x.f), yNaN = isFloat && std::isnan(y.f);
  if (xNaN != yNaN)
    return xNaN;
  bool isLess = isFloat ? x.f < y.f : isLessInteger(x, y, type);
  bool isGreater = isFloat ? x.f > y.f : isLessInteger(y, x, type);
  if (!xNaN && (isLess || isGreater))
    return isMax ? isGreater : isLess;
  return xPosition <= yPosition;
}

/// Whether the region chooses the first largest (smallest) of two elements with positions.
bool choosesFirst(Translation &t, ReduceOp op, bool isMax) {
  Type type = Translation::typeOf(op.getInputs()[0].getType()).getElementType();
  Type index = Translation::typeOf(op.getInputs()[1].getType()).getElementType();
  Elements elements = testElements(type);
  size_t count = elements.values.size();
  std::vector<Scalar> points[4]; // Value and position of the left element, value and position of the right one.
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) {
      points[0].push_back(elements.values[i]);
      points[1].push_back(elements.positions[i]);
      points[2].push_back(elements.values[j]);
      points[3].push_back(elements.positions[j]);
    }
  auto results = evaluateElementwise(t, op.getBody(),
                                     {{type, points[0]}, {index, points[1]}, {type, points[2]}, {index, points[3]}});
  if (failed(results))
    return false;
  for (size_t k = 0; k < points[0].size(); ++k) {
    // The left element is before the right one; JAX's regions take the left one of two NaN wherever it is.
    if (points[1][k].i > points[3][k].i && std::isnan(points[0][k].f) && std::isnan(points[2][k].f))
      continue;
    bool isLeft = comesFirst(type, isMax, points[0][k], points[1][k].i, points[2][k], points[3][k].i);
    if ((*results)[1].elements[k].i != (isLeft ? points[1] : points[3])[k].i)
      return false;
  }
  return true;
}

/// argmax and argmin: an array and its positions. The value of the chosen element is read at its position.
std::optional<SmallVector<Value>> argReduce(Translation &t, ReduceOp op) {
  if (op.getInputs().size() != 2 || op.getDimensions().size() != 1 ||
      !Translation::isIota(t.get(op.getInputs()[1]), op.getDimensions()[0]))
    return std::nullopt;
  Value x = t.get(op.getInputs()[0]);
  int64_t dim = op.getDimensions()[0];
  Type index = Translation::typeOf(op.getInputs()[1].getType()).getElementType();
  // Of an array without elements the result is the initial one; a type that cannot hold positions wraps.
  if (shapeOf(x)[dim] == 0 || !holdsPositions(t.b.getI32Type(), shapeOf(x)[dim]))
    return std::nullopt;
  for (bool isMax : {true, false}) {
    if (!Translation::isNeutral(isMax ? ReductionKind::max : ReductionKind::min, op.getInitValues()[0]) ||
        !choosesFirst(t, op, isMax))
      continue;
    SmallVector<int64_t> shape(shapeOf(x)), kept(shape);
    shape.erase(shape.begin() + dim);
    kept[dim] = 1;
    Value positions = t.create<spmdc::ArgReduceOp>(ArrayType::get(shape, t.b.getI32Type()), x, isMax, dim);
    Value chosen =
        op.getOutputs()[0].use_empty()
            ? t.create<spmdc::ReduceOp>(x, isMax ? ReductionKind::max : ReductionKind::min, ArrayRef<int64_t>{dim})
                  .getResult()
            : t.reshape(t.create<spmdc::TakeAlongOp>(x, t.reshape(positions, kept), dim), shape);
    return SmallVector<Value>{chosen, t.convert(positions, index)};
  }
  return std::nullopt;
}

Results reduce(Translation &t, ReduceOp op) {
  SmallVector<Value> inputs = t.get(op.getInputs());
  ArrayRef<int64_t> dims = op.getDimensions();
  ArrayRef<int64_t> shape = inputs.empty() ? ArrayRef<int64_t>() : shapeOf(inputs.front());
  bool isAlike = llvm::all_of(inputs, [&](Value input) { return shapeOf(input) == shape; }) &&
                 llvm::all_of(t.get(op.getInitValues()), [](Value init) { return shapeOf(init).empty(); });
  if (inputs.empty() || !areDims(dims, static_cast<int64_t>(shape.size())) || !isAlike)
    return refuse(op, "has dimensions that do not fit its operands");
  FailureOr<Combiner> combiner = Combiner::get(t, op, op.getBody(), op.getInputs());
  if (failed(combiner))
    return failure();
  if (combiner->getKinds().empty())
    if (std::optional<SmallVector<Value>> results = argReduce(t, op))
      return *results;
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  if (combiner->getKinds().empty() && llvm::any_of(dims, [&](int64_t dim) { return shape[dim] == 0; })) {
    SmallVector<int64_t> kept;
    for (auto [dim, size] : llvm::enumerate(shape))
      if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
        kept.push_back(size);
    return llvm::map_to_vector(op.getInitValues(), [&](Value init) { return t.broadcast(t.get(init), kept); });
  }
  Results results = combiner->reduce(inputs, sorted);
  return failed(results) ? results : combiner->addInit(op.getInitValues(), *results);
}

} // namespace

void addReductionRules(Rules &rules) { rules.addMany<ReduceOp>(reduce); }

} // namespace spmdc::stablehlo
