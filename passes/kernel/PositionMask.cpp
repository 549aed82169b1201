//===- PositionMask.cpp - tiles of scores that a mask removes -------------===//

#include "passes/kernel/PositionMask.h"

#include "passes/kernel/ScratchEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace spmdc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The value that all elements of an array have where a mask does not keep them, if that is known.
class MaskedValues {
public:
  explicit MaskedValues(const PositionMask &mask) : mask(mask) {}

  std::optional<double> find(Value value) {
    auto [known, isNew] = values.try_emplace(value.getAsOpaquePointer());
    if (isNew) {
      std::optional<double> computed = compute(value);
      values[value.getAsOpaquePointer()] = computed;
      return computed;
    }
    return known->second;
  }

private:
  std::optional<double> compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
      if (!splat || !isa<FloatType>(elementTypeOf(value)))
        return std::nullopt;
      return splat.getSplatValue<APFloat>().convertToDouble();
    }
    if (op == mask.select)
      return find(mask.keeps ? mask.select->getOperand(2) : mask.select->getOperand(1));
    SmallVector<std::optional<double>> operands;
    auto isZero = [&](unsigned number) { return operands[number] && *operands[number] == 0; };
    auto isLow = [&](unsigned number) { return operands[number] && *operands[number] == -kInfinity; };
    if (!isa<ConvertOp, BroadcastInDimOp, NegateOp, ExpOp, MultiplyOp, DivideOp, SubtractOp, AddOp, SelectOp>(op))
      return std::nullopt;
    for (Value operand : op->getOperands())
      operands.push_back(find(operand));
    if (isa<ConvertOp, BroadcastInDimOp>(op))
      return operands[0];
    if (isa<NegateOp>(op))
      return operands[0] ? std::optional<double>(-*operands[0]) : std::nullopt;
    if (isa<ExpOp>(op))
      return operands[0] ? std::optional<double>(std::exp(*operands[0])) : std::nullopt;
    // Zero weights count as zeros whatever they are multiplied with, and -inf stays so beside every score.
    if (isa<MultiplyOp>(op))
      return isZero(0) || isZero(1) ? std::optional<double>(0) : std::nullopt;
    if (isa<DivideOp>(op))
      return isZero(0) ? std::optional<double>(0) : std::nullopt;
    if (isa<SubtractOp>(op))
      return isLow(0) ? std::optional<double>(-kInfinity) : std::nullopt;
    if (isa<AddOp>(op)) {
      if (isLow(0) || isLow(1))
        return -kInfinity;
      return isZero(0) && isZero(1) ? std::optional<double>(0) : std::nullopt;
    }
    return operands[1] && operands[2] && *operands[1] == *operands[2] ? operands[1] : std::nullopt;
  }

  const PositionMask &mask;
  std::map<const void *, std::optional<double>> values;
};

/// Whether PositionBounds can bound the value.
bool canBound(const StreamedProducts &products, Value value, const Index &index) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (auto iota = dyn_cast<IotaOp>(op))
    return llvm::all_of(index[iota.getDim()].terms, [&](const std::pair<unsigned, int64_t> &term) {
      auto isAtom = [&](const IndexExpr &variable) {
        return !variable.isConstant() && variable.terms[0].first == term.first;
      };
      return isAtom(products.rowVar) || isAtom(products.columnVar);
    });
  if (isa<BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp>(op)) {
    MappedIndex mapped = products.indexing->map(op, index);
    return mapped.guards.empty() && mapped.lookups.empty() && canBound(products, op->getOperand(0), mapped.index);
  }
  bool isBool = elementTypeOf(value).isInteger(1);
  if (auto convert = dyn_cast<ConvertOp>(op))
    return (isa<FloatType>(elementTypeOf(value)) || isa<IntegerType>(elementTypeOf(convert.getOperand()))) && !isBool &&
           canBound(products, convert.getOperand(), index);
  bool isKnown = isa<AddOp, SubtractOp, NegateOp, MaximumOp, MinimumOp, CompareOp, SelectOp>(op) ||
                 (isBool && isa<AndOp, OrOp, NotOp>(op));
  return isKnown && llvm::all_of(op->getOperands(), [&](Value operand) { return canBound(products, operand, index); });
}

/// The selects on which a weight depends element by element.
void collectSelects(Value value, llvm::SetVector<Operation *> &selects, llvm::DenseSet<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<ElementwiseOpInterface>(op) || !seen.insert(op).second)
    return;
  if (isa<SelectOp>(op))
    selects.insert(op);
  for (Value operand : op->getOperands())
    collectSelects(operand, selects, seen);
}

} // namespace

std::optional<PositionMask> PositionMask::find(const StreamedProducts &products) {
  llvm::SetVector<Operation *> selects;
  llvm::DenseSet<Operation *> seen;
  for (const StreamedProducts::Result &result : products.results)
    collectSelects(result.weight, selects, seen);
  for (Operation *op : selects)
    for (bool keeps : {true, false}) {
      PositionMask mask{cast<SelectOp>(op), keeps};
      MaskedValues values(mask);
      bool isMask = products.softmax
                        ? values.find(products.softmax->exponent) == -kInfinity
                        : llvm::all_of(products.results, [&](const StreamedProducts::Result &result) {
                            auto reduce = dyn_cast<ReduceOp>(result.op);
                            double neutral = reduce && reduce.getKind() == ReductionKind::max ? -kInfinity : 0;
                            return values.find(result.weight) == neutral;
                          });
      if (isMask && canBound(products, mask.select->getOperand(0), products.weightIndex))
        return mask;
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

PositionBounds::PositionBounds(OpBuilder &b, Location loc, const StreamedProducts &products, const Bounds &rows,
                               const Bounds &columns)
    : b(b), loc(loc), products(products), rows(rows), columns(columns) {
  for (Value *position : {&this->rows.low, &this->rows.high, &this->columns.low, &this->columns.high})
    *position = b.create<arith::SIToFPOp>(loc, b.getF64Type(), *position);
}

Value PositionBounds::constant(double value) { return b.create<arith::ConstantOp>(loc, b.getF64FloatAttr(value)); }

Value PositionBounds::toNumber(Value condition) {
  return b.create<arith::SelectOp>(loc, condition, constant(1), constant(0));
}

PositionBounds::Bounds PositionBounds::exchange(const Bounds &condition) {
  return {b.create<arith::SubFOp>(loc, constant(1), condition.high),
          b.create<arith::SubFOp>(loc, constant(1), condition.low)};
}

PositionBounds::Bounds PositionBounds::emit(const PositionMask &mask) {
  Bounds bounds = emit(mask.select->getOperand(0), products.weightIndex);
  if (!mask.keeps)
    bounds = exchange(bounds);
  auto isTrue = [&](Value number) -> Value {
    return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, number, constant(1));
  };
  return {isTrue(bounds.low), isTrue(bounds.high)};
}

PositionBounds::Bounds PositionBounds::emitPosition(const IndexExpr &position) {
  Bounds sum{constant(static_cast<double>(position.constant)), constant(static_cast<double>(position.constant))};
  for (auto [atom, coefficient] : position.terms) {
    bool isRow = !products.rowVar.isConstant() && products.rowVar.terms[0].first == atom;
    const Bounds &variable = isRow ? rows : columns;
    Value factor = constant(static_cast<double>(coefficient));
    Value low = b.create<arith::MulFOp>(loc, coefficient < 0 ? variable.high : variable.low, factor);
    Value high = b.create<arith::MulFOp>(loc, coefficient < 0 ? variable.low : variable.high, factor);
    sum = {b.create<arith::AddFOp>(loc, sum.low, low), b.create<arith::AddFOp>(loc, sum.high, high)};
  }
  return sum;
}

PositionBounds::Bounds PositionBounds::compare(ComparisonDirection direction, const Bounds &x, const Bounds &y) {
  auto holds = [&](arith::CmpFPredicate predicate, Value left, Value right) -> Value {
    return b.create<arith::CmpFOp>(loc, predicate, left, right);
  };
  auto both = [&](Value left, Value right) -> Value { return b.create<arith::AndIOp>(loc, left, right); };
  constexpr auto less = arith::CmpFPredicate::OLT, atMost = arith::CmpFPredicate::OLE,
                 equal = arith::CmpFPredicate::OEQ;
  switch (direction) {
  case ComparisonDirection::lt:
    return {toNumber(holds(less, x.high, y.low)), toNumber(holds(less, x.low, y.high))};
  case ComparisonDirection::le:
    return {toNumber(holds(atMost, x.high, y.low)), toNumber(holds(atMost, x.low, y.high))};
  case ComparisonDirection::gt:
    return compare(ComparisonDirection::lt, y, x);
  case ComparisonDirection::ge:
    return compare(ComparisonDirection::le, y, x);
  case ComparisonDirection::eq:
    return {toNumber(both(both(holds(equal, x.low, x.high), holds(equal, y.low, y.high)), holds(equal, x.low, y.low))),
            toNumber(both(holds(atMost, x.low, y.high), holds(atMost, y.low, x.high)))};
  case ComparisonDirection::ne:
    return exchange(compare(ComparisonDirection::eq, x, y));
  }
  llvm_unreachable("a comparison has one of these directions");
}

PositionBounds::Bounds PositionBounds::emit(Value value, const Index &index) {
  Operation *op = value.getDefiningOp();
  if (auto splat = dyn_cast<ConstantOp>(op)) {
    auto elements = cast<SplatElementsAttr>(splat.getValue());
    Type type = elementTypeOf(value);
    double number = isa<FloatType>(type) ? elements.getSplatValue<APFloat>().convertToDouble()
                    : type.isUnsignedInteger() || type.isInteger(1)
                        ? static_cast<double>(elements.getSplatValue<APInt>().getZExtValue())
                        : static_cast<double>(elements.getSplatValue<APInt>().getSExtValue());
    return {constant(number), constant(number)};
  }
  if (auto iota = dyn_cast<IotaOp>(op))
    return emitPosition(index[iota.getDim()]);
  if (isIndexOp(op))
    return emit(op->getOperand(0), products.indexing->map(op, index).index);
  SmallVector<Bounds> operands;
  for (Value operand : op->getOperands())
    operands.push_back(emit(operand, index));
  auto create = [&]<typename Op>(Value x, Value y, Op *) -> Value { return b.create<Op>(loc, x, y); };
  auto least = [&](Value x, Value y) { return create(x, y, static_cast<arith::MinimumFOp *>(nullptr)); };
  auto most = [&](Value x, Value y) { return create(x, y, static_cast<arith::MaximumFOp *>(nullptr)); };
  const Bounds &x = operands[0];
  if (isa<ConvertOp>(op))
    return x;
  if (isa<NegateOp>(op))
    return {b.create<arith::NegFOp>(loc, x.high), b.create<arith::NegFOp>(loc, x.low)};
  if (isa<NotOp>(op))
    return exchange(x);
  const Bounds &y = operands[1];
  if (isa<AddOp>(op))
    return {b.create<arith::AddFOp>(loc, x.low, y.low), b.create<arith::AddFOp>(loc, x.high, y.high)};
  if (isa<SubtractOp>(op))
    return {b.create<arith::SubFOp>(loc, x.low, y.high), b.create<arith::SubFOp>(loc, x.high, y.low)};
  if (isa<MinimumOp, AndOp>(op))
    return {least(x.low, y.low), least(x.high, y.high)};
  if (isa<MaximumOp, OrOp>(op))
    return {most(x.low, y.low), most(x.high, y.high)};
  if (auto comparison = dyn_cast<CompareOp>(op))
    return compare(comparison.getDirection(), x, y);
  // A select: both branches where the condition is not known.
  const Bounds &z = operands[2];
  Value isAlways = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, x.low, constant(1));
  Value isNever = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, x.high, constant(0));
  auto choose = [&](Value onTrue, Value onFalse, Value any) -> Value {
    return b.create<arith::SelectOp>(loc, isAlways, onTrue, b.create<arith::SelectOp>(loc, isNever, onFalse, any));
  };
  return {choose(y.low, z.low, least(y.low, z.low)), choose(y.high, z.high, most(y.high, z.high))};
}

} // namespace spmdc
