//===- StreamedWeights.cpp - the weights of a tile, from its scores -------===//
//
// Element-wise functions of scores, and the softmax of a tile, in a thread's registers. exp and division are
// approximate in the last bits of f32; a mask that keeps a tile entirely is no part of its code.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/Splats.h"
#include "passes/gpu/StreamedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Far from the ends of f32's exponents, also with a power of two for log2(e).
constexpr double kLeastFactor = 0x1p-100;
/// A product is scaled behind its sums by factors between this and its inverse: they hardly change which sums overflow.
constexpr double kLeastResultFactor = 0x1p-16;

} // namespace

std::optional<ElementEmitter::Emitted> StreamedKernel::readElement(Value value, ArrayRef<IndexExpr> index) {
  if (findsEarlyValues)
    noteEarlyValue(value, index);
  else if (Value early = readEarlyValue(value, index))
    return Emitted{early, emitter.getDepth()};
  for (auto [number, score] : llvm::enumerate(products.scores))
    if (score.op.getResult() == value && ArrayRef<IndexExpr>(score.index) == index)
      return Emitted{findsEarlyValues ? f32(0) : scores[number][element], emitter.getDepth()};
  if (Value kept = findKept(value))
    return Emitted{emitter.emit(kept, index), emitter.getDepth()};
  // Values stay in f32, which is more precise than their types ask for, so these may be approximate in its last bits.
  Operation *op = value.getDefiningOp();
  if (!op || !body.contains(value) || !registerType(elementTypeOf(value)).isF32())
    return std::nullopt;
  if (auto quotient = dyn_cast<DivideOp>(op)) {
    Value dividend = emitter.emit(quotient.getLhs(), index), divisor = emitter.emit(quotient.getRhs(), index);
    // Of a constant LLVM computes the exact inverse.
    auto constant = quotient.getRhs().getDefiningOp<ConstantOp>();
    Value inverse = constant ? b.create<arith::DivFOp>(loc, f32(1), divisor).getResult() : cores->invert(divisor);
    return Emitted{b.create<arith::MulFOp>(loc, dividend, inverse), emitter.getDepth()};
  }
  if (auto exponential = dyn_cast<ExpOp>(op)) {
    // Of the difference to a row's maximum: one multiplication and addition, as in the softmax.
    auto difference = exponential.getOperand().getDefiningOp<SubtractOp>();
    bool isInside = difference && body.contains(difference.getResult());
    auto [exponent, factor] = findFactor(isInside ? difference.getLhs() : exponential.getOperand());
    Value x = emitter.emit(exponent, index);
    if (!isInside)
      return Emitted{cores->exp2(b.create<arith::MulFOp>(loc, x, f32(kLog2E * factor))), emitter.getDepth()};
    Value base = emitter.emit(difference.getRhs(), index);
    if (!isScore(exponent))
      return Emitted{expOfDifference(x, factor, base), emitter.getDepth()};
    Value offset = b.create<arith::MulFOp>(loc, base, f32(-kLog2E));
    return Emitted{cores->exp2(b.create<LLVM::FMAOp>(loc, x, f32(kLog2E * factor), offset)), emitter.getDepth()};
  }
  return std::nullopt;
}

bool StreamedKernel::isScore(Value value) const {
  return llvm::any_of(products.scores,
                      [&](const StreamedProducts::Score &score) { return score.op->getResult(0) == value; });
}

Value StreamedKernel::expOfDifference(Value x, double factor, Value base) {
  if (factor != 1)
    x = b.create<arith::MulFOp>(loc, x, f32(factor));
  return cores->exp2(b.create<arith::MulFOp>(loc, b.create<arith::SubFOp>(loc, x, base), f32(kLog2E)));
}

Value StreamedKernel::findKept(Value value) const {
  // A gradient selects by the same condition as its softmax.
  auto select = isKept && mask && body.contains(value) ? value.getDefiningOp<SelectOp>() : SelectOp();
  if (!select || select->getOperand(0) != mask->select->getOperand(0))
    return {};
  return select->getOperand(mask->keeps ? 1 : 2);
}

std::pair<Value, double> StreamedKernel::findResultFactor(const StreamedProducts::Result &result) {
  // Weights of f16 could overflow without a factor below 1.
  if (!result.streamed || products.softmax || !elementTypeOf(result.streamed->array).isBF16())
    return {result.weight, 1};
  bool wasKept = std::exchange(isKept, false); // The factor is one for all tiles.
  auto [weight, factor] = findFactor(result.weight);
  isKept = wasKept;
  bool isModest = factor >= kLeastResultFactor && factor <= 1 / kLeastResultFactor;
  return isModest ? std::pair(weight, factor) : std::pair(result.weight, 1.0);
}

StreamedKernel::Elements StreamedKernel::emitWeights(const StreamedProducts::Result &result, Value firstColumn) {
  bool isMax = !result.streamed && cast<ReduceOp>(result.op).getKind() == ReductionKind::max;
  return emitElements(findResultFactor(result).first, products.weightIndex, firstColumn,
                      isMax ? -std::numeric_limits<double>::infinity() : 0);
}

StreamedKernel::Elements StreamedKernel::emitElements(Value value, ArrayRef<IndexExpr> index, Value firstColumn,
                                                      std::optional<double> padding) {
  Elements values(scores.front().size());
  bool mayEnd = hasTail() && !isWhole, hasRowTail = products.rows % tiles.getBlockRows() != 0;
  for (int64_t r = 0; r < tiles.rowTiles; ++r)
    for (int64_t g = 0; g < getGroups(); ++g)
      for (int64_t e = 0; e < 4; ++e)
        code.inScope([&] {
          element = at(r, g, e);
          Value row = threadRows[2 * r + e / 2];
          Value column = code.add(code.add(firstColumn, pairColumn), emitter.emitConstant(g * kMmaColumns + e % 2));
          // Arrays are read inside their bounds: the last row and column stand for those behind.
          auto clamp = [&](Value position, int64_t size) -> Value {
            return b.create<arith::MinSIOp>(loc, position, emitter.emitConstant(size - 1));
          };
          emitter.bind(products.rowVar, hasRowTail ? clamp(row, products.rows) : row);
          emitter.bind(products.columnVar, mayEnd ? clamp(column, products.columns) : column);
          Value result = emitter.emit(value, index);
          if (mayEnd && padding)
            result = b.create<arith::SelectOp>(loc, code.isLess(column, products.columns), result, f32(*padding));
          values[element] = result;
        });
  return values;
}

std::pair<Value, double> StreamedKernel::findFactor(Value value) const {
  double factor = 1;
  while (Operation *op = body.contains(value) ? value.getDefiningOp() : nullptr) {
    Value inner;
    std::optional<double> constant;
    if (Value kept = findKept(value))
      inner = kept;
    else if (auto product = dyn_cast<MultiplyOp>(op)) {
      for (auto [x, y] : {std::pair(product.getLhs(), product.getRhs()), {product.getRhs(), product.getLhs()}})
        if (!inner && (constant = findSplat(y)))
          inner = x;
    } else if (auto quotient = dyn_cast<DivideOp>(op)) {
      if ((constant = findSplat(quotient.getRhs())))
        inner = quotient.getLhs(), constant = 1 / *constant;
    }
    double next = factor * constant.value_or(1);
    // A negative factor would make a minimum of the maximum; one that is 0 or infinite in f32 would make a NaN of -inf.
    bool isOrdinary = next > kLeastFactor && next < 1 / kLeastFactor;
    if (!inner || !isOrdinary || !registerType(elementTypeOf(value)).isF32())
      break;
    value = inner, factor = next;
  }
  return {value, factor};
}

StreamedKernel::Elements StreamedKernel::emitSoftmax(Value firstColumn, SmallVectorImpl<Value> &scales) {
  double infinity = std::numeric_limits<double>::infinity();
  // The largest product is the product of the largest, so one multiplication a row gives the maximum, and the factor
  // is a part of the exponentials' multiplication.
  auto [exponent, factor] = findFactor(products.softmax->exponent);
  Elements values = emitElements(exponent, products.weightIndex, firstColumn, -infinity);
  int64_t rows = getThreadRows(), rowElements = 2 * getGroups();
  auto atRow = [&](int64_t row, int64_t i) { return at(row / 2, i / 2, (row % 2) * 2 + i % 2); };
  auto maximum = [&](Value x, Value y) -> Value { return b.create<arith::MaxNumFOp>(loc, x, y); };
  // Code for all rows is interleaved, and each has two maxima of half of its elements: a warp alone does not wait for
  // each instruction before the next one. A NaN is no maximum here, but its exponential is NaN, and so is the row.
  SmallVector<std::array<Value, 2>> halves(rows);
  for (int64_t i = 0; i < rowElements; ++i)
    for (int64_t row = 0; row < rows; ++row) {
      Value &max = halves[row][i % 2], value = values[atRow(row, i)];
      max = max ? maximum(max, value) : value;
    }
  SmallVector<Value> tileMaxima;
  for (auto [even, odd] : halves)
    tileMaxima.push_back(maximum(even, odd));
  for (int64_t offset : {2, 1})
    for (Value &max : tileMaxima)
      max = maximum(max, code.shuffle(max, gpu::ShuffleMode::XOR, offset));
  SmallVector<Value> bases, offsets, newSums;
  auto exponential = [&](int64_t row, Value value) {
    return isScore(exponent) ? cores->exp2(b.create<LLVM::FMAOp>(loc, value, f32(kLog2E * factor), offsets[row]))
                             : expOfDifference(value, factor, bases[row]);
  };
  for (int64_t row = 0; row < rows; ++row) {
    Value max = tileMaxima[row];
    if (factor != 1)
      max = b.create<arith::MulFOp>(loc, max, f32(factor));
    Value before = get(maxima, row), after = maximum(before, max);
    set(maxima, row, after);
    // Rows that have seen only -inf: every exponential is 0, not NaN.
    Value isEmpty = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, after, f32(-infinity));
    Value base = b.create<arith::SelectOp>(loc, isEmpty, f32(0), after);
    bases.push_back(base);
    offsets.push_back(b.create<arith::MulFOp>(loc, base, f32(-kLog2E)));
    scales.push_back(expOfDifference(before, 1, base));
    newSums.push_back(b.create<arith::MulFOp>(loc, get(sums, row), scales.back()));
  }
  for (int64_t i = 0; i < rowElements; ++i)
    for (int64_t row = 0; row < rows; ++row) {
      Value &value = values[atRow(row, i)];
      value = exponential(row, value);
      newSums[row] = b.create<arith::AddFOp>(loc, newSums[row], value);
    }
  for (int64_t row = 0; row < rows; ++row)
    set(sums, row, newSums[row]);
  return values;
}

} // namespace spmdc
