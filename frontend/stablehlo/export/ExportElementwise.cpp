//===- ExportElementwise.cpp - one element at a time ----------------------===//

#include "frontend/stablehlo/export/Exporter.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

template <typename From, typename To> Value writeUnary(Exporter &e, From op) {
  return e.create<To>(Exporter::typeOf(op.getResult()), e.get(op.getOperand()));
}
template <typename From, typename To> Value writeBinary(Exporter &e, From op) {
  return e.create<To>(Exporter::typeOf(op.getResult()), e.get(op.getLhs()), e.get(op.getRhs()));
}

Type elementOf(Value array) { return typeOf(array).getElementType(); }

/// The name of a comparison in StableHLO.
StringRef wordOf(spmdc::ComparisonDirection direction) {
  switch (direction) {
  case spmdc::ComparisonDirection::eq:
    return "EQ";
  case spmdc::ComparisonDirection::ne:
    return "NE";
  case spmdc::ComparisonDirection::lt:
    return "LT";
  case spmdc::ComparisonDirection::le:
    return "LE";
  case spmdc::ComparisonDirection::gt:
    return "GT";
  case spmdc::ComparisonDirection::ge:
    return "GE";
  }
  llvm_unreachable("all directions are handled");
}

/// A power of 2 is exact for whole exponents, in XLA as here; exp(x log(2)) is not.
Value exp2(Exporter &e, spmdc::Exp2Op op) {
  Value x = e.get(op.getOperand());
  return e.create<PowerOp>(x.getType(), e.splatLike(x, 2), x);
}

/// Of bf16 and f16 in f32: the logarithm is rounded once.
Value log2(Exporter &e, spmdc::Log2Op op) {
  Value x = e.get(op.getOperand());
  Type element = elementOf(op.getOperand());
  Value wide = e.convert(x, element.getIntOrFloatBitWidth() == 16 ? e.b.getF32Type() : element);
  Value log = e.create<LogOp>(wide.getType(), wide);
  return e.convert(e.create<DivideOp>(log.getType(), log, e.splatLike(log, std::numbers::ln2)), element);
}

/// StableHLO's abs and sign take signed numbers only.
Value abs(Exporter &e, spmdc::AbsOp op) {
  Value x = e.get(op.getOperand());
  bool isSigned = !elementOf(op.getOperand()).isUnsignedInteger();
  return isSigned ? e.create<AbsOp>(x.getType(), x).getResult() : x;
}

Value sign(Exporter &e, spmdc::SignOp op) {
  Value x = e.get(op.getOperand());
  if (!elementOf(op.getOperand()).isUnsignedInteger())
    return e.create<SignOp>(x.getType(), x);
  return e.create<MinimumOp>(x.getType(), x, e.splatLike(x, 1));
}

/// The array operation shifts zeros into unsigned numbers, StableHLO copies of the highest bit.
Value shiftRightArithmetic(Exporter &e, spmdc::ShiftRightArithmeticOp op) {
  if (elementOf(op.getLhs()).isUnsignedInteger())
    return writeBinary<spmdc::ShiftRightArithmeticOp, ShiftRightLogicalOp>(e, op);
  return writeBinary<spmdc::ShiftRightArithmeticOp, ShiftRightArithmeticOp>(e, op);
}

Value compare(Exporter &e, spmdc::CompareOp op) {
  return e.compare(e.get(op.getLhs()), wordOf(op.getDirection()), e.get(op.getRhs()));
}

Value select(Exporter &e, spmdc::SelectOp op) {
  return e.select(e.get(op.getPredicate()), e.get(op.getOnTrue()), e.get(op.getOnFalse()));
}

Value clamp(Exporter &e, spmdc::ClampOp op) {
  return e.create<ClampOp>(Exporter::typeOf(op.getResult()), e.get(op.getLow()), e.get(op.getOperand()),
                           e.get(op.getHigh()));
}

Value barrier(Exporter &e, spmdc::OptimizationBarrierOp op) {
  Value x = e.get(op.getOperand());
  return e.create<OptimizationBarrierOp>(x.getType(), x).getResult(0);
}

/// Adds rules for pairs of operations that mean the same.
template <typename From, typename To> void addUnary(ExportRules &rules) { rules.add<From>(writeUnary<From, To>); }
template <typename From, typename To> void addBinary(ExportRules &rules) { rules.add<From>(writeBinary<From, To>); }

} // namespace

void addElementwiseExports(ExportRules &rules) {
  addUnary<spmdc::AcosOp, chlo::AcosOp>(rules);
  addUnary<spmdc::AsinOp, chlo::AsinOp>(rules);
  addUnary<spmdc::AtanOp, chlo::AtanOp>(rules);
  addUnary<spmdc::BitcastConvertOp, BitcastConvertOp>(rules);
  addUnary<spmdc::CbrtOp, CbrtOp>(rules);
  addUnary<spmdc::CeilOp, CeilOp>(rules);
  addUnary<spmdc::ConvertOp, ConvertOp>(rules);
  addUnary<spmdc::CosOp, CosineOp>(rules);
  addUnary<spmdc::CoshOp, chlo::CoshOp>(rules);
  addUnary<spmdc::ErfInvOp, chlo::ErfInvOp>(rules);
  addUnary<spmdc::ErfOp, chlo::ErfOp>(rules);
  addUnary<spmdc::ExpOp, ExponentialOp>(rules);
  addUnary<spmdc::Expm1Op, ExponentialMinusOneOp>(rules);
  addUnary<spmdc::FloorOp, FloorOp>(rules);
  addUnary<spmdc::IsFiniteOp, IsFiniteOp>(rules);
  addUnary<spmdc::Log1pOp, LogPlusOneOp>(rules);
  addUnary<spmdc::LogOp, LogOp>(rules);
  addUnary<spmdc::LogisticOp, LogisticOp>(rules);
  addUnary<spmdc::NegateOp, NegateOp>(rules);
  addUnary<spmdc::NotOp, NotOp>(rules);
  addUnary<spmdc::PopcntOp, PopcntOp>(rules);
  addUnary<spmdc::RoundNearestEvenOp, RoundNearestEvenOp>(rules);
  addUnary<spmdc::RsqrtOp, RsqrtOp>(rules);
  addUnary<spmdc::SinOp, SineOp>(rules);
  addUnary<spmdc::SinhOp, chlo::SinhOp>(rules);
  addUnary<spmdc::SqrtOp, SqrtOp>(rules);
  addUnary<spmdc::TanOp, TanOp>(rules);
  addUnary<spmdc::TanhOp, TanhOp>(rules);
  addBinary<spmdc::AddOp, AddOp>(rules);
  addBinary<spmdc::AndOp, AndOp>(rules);
  addBinary<spmdc::Atan2Op, Atan2Op>(rules);
  addBinary<spmdc::DivideOp, DivideOp>(rules);
  addBinary<spmdc::MaximumOp, MaximumOp>(rules);
  addBinary<spmdc::MinimumOp, MinimumOp>(rules);
  addBinary<spmdc::MultiplyOp, MultiplyOp>(rules);
  addBinary<spmdc::OrOp, OrOp>(rules);
  addBinary<spmdc::PowerOp, PowerOp>(rules);
  addBinary<spmdc::RemainderOp, RemainderOp>(rules);
  addBinary<spmdc::ShiftLeftOp, ShiftLeftOp>(rules);
  addBinary<spmdc::ShiftRightLogicalOp, ShiftRightLogicalOp>(rules);
  addBinary<spmdc::SubtractOp, SubtractOp>(rules);
  addBinary<spmdc::XorOp, XorOp>(rules);
  rules.add<spmdc::AbsOp>(abs);
  rules.add<spmdc::ClampOp>(clamp);
  rules.add<spmdc::CompareOp>(compare);
  rules.add<spmdc::Exp2Op>(exp2);
  rules.add<spmdc::Log2Op>(log2);
  rules.add<spmdc::OptimizationBarrierOp>(barrier);
  rules.add<spmdc::SelectOp>(select);
  rules.add<spmdc::ShiftRightArithmeticOp>(shiftRightArithmetic);
  rules.add<spmdc::SignOp>(sign);
}

} // namespace spmdc::stablehlo
