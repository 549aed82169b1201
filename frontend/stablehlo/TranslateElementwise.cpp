//===- TranslateElementwise.cpp - one element at a time -------------------===//

#include "frontend/stablehlo/Evaluation.h"
#include "frontend/stablehlo/TotalOrder.h"

#include <cmath>

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

template <typename From, typename To> One translateUnary(Translation &t, From op) {
  return t.create<To>(t.get(op.getOperand())).getResult();
}
template <typename From, typename To> One translateBinary(Translation &t, From op) {
  return t.create<To>(t.get(op.getLhs()), t.get(op.getRhs())).getResult();
}

Type elementOf(Value array) { return typeOf(array).getElementType(); }

One convert(Translation &t, ConvertOp op) {
  return t.convert(t.get(op.getOperand()), Translation::typeOf(op.getType()).getElementType());
}

One reshape(Translation &t, ReshapeOp op) {
  ArrayType type = Translation::typeOf(op.getType());
  if (type.getNumElements() != spmdc::typeOf(t.get(op.getOperand())).getNumElements())
    return refuse(op, "changes the number of elements");
  return t.reshape(t.get(op.getOperand()), type.getShape());
}

One isFinite(Translation &t, IsFiniteOp op) {
  Value x = t.get(op.getOperand());
  return t.create<spmdc::IsFiniteOp>(plainTypeOf(x).withElementType(t.b.getI1Type()), x).getResult();
}

/// Halves are rounded away from zero. Exact: the difference to the floor is exact for every float.
One roundAwayFromZero(Translation &t, RoundNearestAfzOp op) {
  Value x = t.get(op.getOperand());
  Value size = t.create<spmdc::AbsOp>(x), low = t.create<spmdc::FloorOp>(size);
  Value rest = t.create<spmdc::SubtractOp>(size, low);
  Value isUp = t.compare(rest, ComparisonDirection::ge, t.splatLike(x, 0.5));
  return t.odd(x, t.select(isUp, t.create<spmdc::AddOp>(low, t.splatLike(x, 1)), low));
}

One compare(Translation &t, CompareOp op) {
  auto direction = symbolizeComparisonDirection(op.getComparisonDirection().getValue().lower());
  if (!direction)
    return refuse(op, "has no direction '" + op.getComparisonDirection().getValue() + "'");
  Value x = t.get(op.getLhs()), y = t.get(op.getRhs());
  bool isTotal = op.getCompareType() && op.getCompareType()->getValue() == "TOTALORDER";
  if (isTotal && llvm::isa<FloatType>(elementOf(x))) {
    x = toTotalOrder(t, x);
    y = toTotalOrder(t, y);
  }
  return t.compare(x, *direction, y);
}

One select(Translation &t, SelectOp op) {
  return t.select(t.get(op.getPred()), t.get(op.getOnTrue()), t.get(op.getOnFalse()));
}

One clamp(Translation &t, ClampOp op) {
  Value x = t.get(op.getOperand());
  ArrayRef<int64_t> shape = shapeOf(x);
  auto wide = [&](Value bound) {
    Value array = t.get(bound);
    return shapeOf(array).empty() ? t.broadcast(array, shape) : array;
  };
  Value low = wide(op.getMin()), high = wide(op.getMax());
  return t.create<spmdc::ClampOp>(plainTypeOf(x), low, x, high).getResult();
}

//===- CHLO ---------------------------------------------------------------===//

One square(Translation &t, chlo::SquareOp op) {
  Value x = t.get(op.getOperand());
  return t.create<spmdc::MultiplyOp>(x, x).getResult();
}

template <typename Op> One equalsInfinity(Translation &t, Op op) {
  Value x = t.get(op.getOperand());
  bool isNegative = std::is_same_v<Op, chlo::IsNegInfOp>;
  if (std::is_same_v<Op, chlo::IsInfOp>)
    x = t.create<spmdc::AbsOp>(x);
  return t.compare(x, ComparisonDirection::eq, t.splatLike(x, isNegative ? -INFINITY : INFINITY));
}

/// Adds rules for pairs of operations that mean the same.
template <typename From, typename To> void addUnary(Rules &rules) { rules.add<From>(translateUnary<From, To>); }
template <typename From, typename To> void addBinary(Rules &rules) { rules.add<From>(translateBinary<From, To>); }

/// The region, a function of scalars, of each element.
One map(Translation &t, MapOp op) {
  Block &body = op.getComputation().front();
  auto elementOfType = [](Type type) { return llvm::cast<RankedTensorType>(type).getElementType(); };
  auto isScalarOf = [&](Type scalar, Type array) {
    return llvm::cast<RankedTensorType>(scalar).getRank() == 0 && elementOfType(scalar) == elementOfType(array);
  };
  auto shapeOfType = [](Type type) { return llvm::cast<RankedTensorType>(type).getShape(); };
  Type result = op->getResult(0).getType();
  Operation *end = body.getTerminator();
  bool fits = !op.getInputs().empty() && body.getNumArguments() == op.getInputs().size() &&
              end->getNumOperands() == 1 && isScalarOf(end->getOperand(0).getType(), result);
  if (fits)
    for (auto [scalar, input] : llvm::zip_equal(body.getArgumentTypes(), op.getInputs()))
      fits &= isScalarOf(scalar, input.getType()) && shapeOfType(input.getType()) == shapeOfType(result);
  if (!fits)
    return refuse(op, "has a region that does not take an element of each array and give one of its result");
  if (Operation *other = findOtherThanScalarCode(op.getComputation()))
    return refuse(op, "maps elements by a region with '")
           << other->getName() << "', which is not computed element by element; choose by jnp.where or jax.lax.select";
  auto results = t.applyElementwise(op.getComputation(),
                                    llvm::map_to_vector(op.getInputs(), [&](Value input) { return t.get(input); }));
  if (failed(results))
    return failure();
  return results->front();
}

/// Of numbers that are not complex; those of pairs are in complex/.
One realPart(Translation &t, RealOp op) { return t.get(op.getOperand()); }
One imaginaryPart(Translation &t, ImagOp op) { return t.splatLike(t.get(op.getOperand()), 0); }

} // namespace

void addElementwiseRules(Rules &rules) {
  addUnary<AbsOp, spmdc::AbsOp>(rules);
  addUnary<CbrtOp, spmdc::CbrtOp>(rules);
  addUnary<CeilOp, spmdc::CeilOp>(rules);
  addUnary<CosineOp, spmdc::CosOp>(rules);
  addUnary<ExponentialOp, spmdc::ExpOp>(rules);
  addUnary<ExponentialMinusOneOp, spmdc::Expm1Op>(rules);
  addUnary<FloorOp, spmdc::FloorOp>(rules);
  addUnary<LogOp, spmdc::LogOp>(rules);
  addUnary<LogPlusOneOp, spmdc::Log1pOp>(rules);
  addUnary<LogisticOp, spmdc::LogisticOp>(rules);
  addUnary<NegateOp, spmdc::NegateOp>(rules);
  addUnary<NotOp, spmdc::NotOp>(rules);
  addUnary<PopcntOp, spmdc::PopcntOp>(rules);
  addUnary<RoundNearestEvenOp, spmdc::RoundNearestEvenOp>(rules);
  addUnary<RsqrtOp, spmdc::RsqrtOp>(rules);
  addUnary<SignOp, spmdc::SignOp>(rules);
  addUnary<SineOp, spmdc::SinOp>(rules);
  addUnary<SqrtOp, spmdc::SqrtOp>(rules);
  addUnary<TanOp, spmdc::TanOp>(rules);
  addUnary<TanhOp, spmdc::TanhOp>(rules);
  addUnary<chlo::AcosOp, spmdc::AcosOp>(rules);
  addUnary<chlo::AsinOp, spmdc::AsinOp>(rules);
  addUnary<chlo::AtanOp, spmdc::AtanOp>(rules);
  addUnary<chlo::CoshOp, spmdc::CoshOp>(rules);
  addUnary<chlo::ErfOp, spmdc::ErfOp>(rules);
  addUnary<chlo::ErfInvOp, spmdc::ErfInvOp>(rules);
  addUnary<chlo::SinhOp, spmdc::SinhOp>(rules);
  addUnary<chlo::TanOp, spmdc::TanOp>(rules);
  addBinary<AddOp, spmdc::AddOp>(rules);
  addBinary<AndOp, spmdc::AndOp>(rules);
  addBinary<Atan2Op, spmdc::Atan2Op>(rules);
  addBinary<DivideOp, spmdc::DivideOp>(rules);
  addBinary<MaximumOp, spmdc::MaximumOp>(rules);
  addBinary<MinimumOp, spmdc::MinimumOp>(rules);
  addBinary<MultiplyOp, spmdc::MultiplyOp>(rules);
  addBinary<OrOp, spmdc::OrOp>(rules);
  addBinary<PowerOp, spmdc::PowerOp>(rules);
  addBinary<ShiftLeftOp, spmdc::ShiftLeftOp>(rules);
  addBinary<ShiftRightLogicalOp, spmdc::ShiftRightLogicalOp>(rules);
  addBinary<SubtractOp, spmdc::SubtractOp>(rules);
  addBinary<XorOp, spmdc::XorOp>(rules);
  rules.add<ConvertOp>(convert);
  rules.add<ReshapeOp>(reshape);
  rules.add<IsFiniteOp>(isFinite);
  rules.add<RoundNearestAfzOp>(roundAwayFromZero);
  rules.add<CompareOp>(compare);
  rules.add<SelectOp>(select);
  rules.add<ClampOp>(clamp);
  rules.add<MapOp>(map);
  rules.add<RealOp>(realPart);
  rules.add<ImagOp>(imaginaryPart);
  rules.add<chlo::SquareOp>(square);
  rules.add<chlo::IsInfOp>(equalsInfinity<chlo::IsInfOp>);
  rules.add<chlo::IsPosInfOp>(equalsInfinity<chlo::IsPosInfOp>);
  rules.add<chlo::IsNegInfOp>(equalsInfinity<chlo::IsNegInfOp>);
}

} // namespace spmdc::stablehlo
