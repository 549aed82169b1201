//===- StreamedTiles.cpp - a tile of columns of a streamed kernel ---------===//

#include "passes/gpu/StreamedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

void StreamedKernel::emitTile(Value tile) {
  multiplyScores(tile);
  Value firstColumn = code.mul(tile, tiles.columns);
  std::optional<Elements> exponentials;
  if (products.softmax) {
    SmallVector<Value> scales;
    exponentials = emitSoftmax(firstColumn, scales);
    scaleProducts(scales);
  }
  // Results with the same weights, such as two gradients, compute them once: LLVM joins equal code.
  for (auto [number, result] : llvm::enumerate(products.results)) {
    if (products.softmax && !result.streamed)
      continue; // A maximum or a sum of the softmax itself.
    bool isMax = !result.streamed && cast<ReduceOp>(result.op).getKind() == ReductionKind::max;
    Elements weights =
        exponentials ? *exponentials
                     : emitElements(result.weight, firstColumn, isMax ? -std::numeric_limits<double>::infinity() : 0);
    if (result.streamed)
      addProduct(result, number, weights, tile);
    else
      addToRows(result, number, weights);
  }
}

void StreamedKernel::multiplyScores(Value buffer) {
  scores.clear();
  for (const StreamedProducts::Score &score : products.scores)
    scores.push_back(tiles.unit == MatrixUnit::Warpgroup
                         ? warpgroups.multiply(describeScore(score, buffer), tiles.columns)
                         : multiplyInWarp(score, buffer));
}

StreamedKernel::Elements StreamedKernel::multiplyInWarp(const StreamedProducts::Score &score, Value buffer) {
  const StreamTiles::Tile &held = tiles.findHeld(score.held), &streamed = tiles.findStreamed(score.streamed);
  SharedTile left{code.getLaunchShared(held.offset), held.pitch}, right{bufferOf(streamed, buffer), streamed.pitch};
  Type type = elementTypeOf(score.held.array);
  int64_t groups = getGroups();
  SmallVector<TensorCores::Results> sums(tiles.rowTiles * groups, {f32(0), f32(0), f32(0), f32(0)});
  for (int64_t depth = 0; depth < score.held.width; depth += kMmaDepth) {
    SmallVector<TensorCores::Left> rows;
    for (int64_t r = 0; r < tiles.rowTiles; ++r)
      rows.push_back(cores->loadLeft(left, warpRow, r * kMmaRows, depth));
    for (int64_t g = 0; g < groups; g += 2) {
      auto columns = cores->loadRight(right, g * kMmaColumns, depth, /*isTransposed=*/false);
      for (int64_t r = 0; r < tiles.rowTiles; ++r)
        for (int64_t i = 0; i < 2; ++i) {
          TensorCores::Results &sum = sums[r * groups + g + i];
          sum = cores->multiply(type, rows[r], columns[i], sum);
        }
    }
  }
  Elements all;
  for (const TensorCores::Results &sum : sums)
    llvm::append_range(all, sum);
  return all;
}

Warpgroups::Product StreamedKernel::describeScore(const StreamedProducts::Score &score, Value buffer) {
  const StreamTiles::Tile &held = tiles.findHeld(score.held), &streamed = tiles.findStreamed(score.streamed);
  Warpgroups::Product product;
  product.elementType = elementTypeOf(score.held.array);
  if (tiles.keepsHeld) {
    product.leftRows = heldRows[&held - tiles.held.begin()];
  } else {
    Value start = code.getLaunchShared(held.offset);
    Value rows = b.create<LLVM::GEPOp>(loc, start.getType(), b.getI16Type(), start,
                                       ArrayRef<LLVM::GEPArg>{code.mul(groupRow, held.pitch)}, /*inbounds=*/true);
    product.left = warpgroups.describe(rows, held.getPanelBytes());
  }
  product.right = warpgroups.describe(bufferOf(streamed, buffer), streamed.getPanelBytes());
  for (int64_t depth = 0; depth < score.held.width; depth += kMmaDepth) {
    int64_t panel = depth / kPanelWidth, bytes = depth % kPanelWidth * 2;
    product.leftSteps.push_back(panel * held.getPanelBytes() + bytes);
    product.rightSteps.push_back(panel * streamed.getPanelBytes() + bytes);
  }
  return product;
}

Warpgroups::Product StreamedKernel::describeProduct(const StreamedProducts::Result &result,
                                                    SmallVector<TensorCores::Left> weights, Value buffer) {
  const StreamTiles::Tile &tile = tiles.findStreamed(*result.streamed);
  Warpgroups::Product product;
  product.elementType = elementTypeOf(result.streamed->array);
  product.leftRows = std::move(weights);
  product.right = warpgroups.describe(bufferOf(tile, buffer), tile.getPanelBytes());
  for (int64_t first = 0; first < tiles.columns; first += kMmaDepth)
    product.rightSteps.push_back(first * kPanelWidth * 2);
  product.isRightTransposed = true;
  return product;
}

std::optional<ElementEmitter::Emitted> StreamedKernel::readElement(Value value, ArrayRef<IndexExpr> index) {
  for (auto [number, score] : llvm::enumerate(products.scores))
    if (score.op.getResult() == value && ArrayRef<IndexExpr>(score.index) == index)
      return Emitted{scores[number][element], emitter.getDepth()};
  if (isKept && mask && value == mask->select.getResult())
    return Emitted{emitter.emit(mask->select->getOperand(mask->keeps ? 1 : 2), index), emitter.getDepth()};
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
    Value exponent = emitter.emit(exponential.getOperand(), index);
    return Emitted{cores->exp2(b.create<arith::MulFOp>(loc, exponent, f32(kLog2E))), emitter.getDepth()};
  }
  return std::nullopt;
}

StreamedKernel::Elements StreamedKernel::emitElements(Value value, Value firstColumn, double padding) {
  Elements values(scores.front().size());
  bool hasTail = products.columns % tiles.columns != 0, hasRowTail = products.rows % tiles.getBlockRows() != 0;
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
          emitter.bind(products.columnVar, hasTail ? clamp(column, products.columns) : column);
          Value result = emitter.emit(value, products.weightIndex);
          if (hasTail)
            result = b.create<arith::SelectOp>(loc, code.isLess(column, products.columns), result, f32(padding));
          values[element] = result;
        });
  return values;
}

std::pair<Value, double> StreamedKernel::findFactor(Value value) const {
  double factor = 1;
  auto constantOf = [&](Value operand) -> std::optional<double> {
    while (auto broadcast = operand.getDefiningOp<BroadcastInDimOp>())
      operand = broadcast.getOperand();
    auto constant = operand.getDefiningOp<ConstantOp>();
    auto all = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
    if (!all || !isa<FloatType>(all.getElementType()))
      return std::nullopt;
    return all.getSplatValue<APFloat>().convertToDouble();
  };
  while (Operation *op = body.contains(value) ? value.getDefiningOp() : nullptr) {
    Value inner;
    std::optional<double> constant;
    if (isKept && mask && op == mask->select)
      inner = op->getOperand(mask->keeps ? 1 : 2);
    else if (auto product = dyn_cast<MultiplyOp>(op)) {
      for (auto [x, y] : {std::pair(product.getLhs(), product.getRhs()), {product.getRhs(), product.getLhs()}})
        if (!inner && (constant = constantOf(y)))
          inner = x;
    } else if (auto quotient = dyn_cast<DivideOp>(op)) {
      if ((constant = constantOf(quotient.getRhs())))
        inner = quotient.getLhs(), constant = 1 / *constant;
    }
    double next = factor * constant.value_or(1);
    // A negative factor would make a minimum of the maximum.
    if (!inner || !(next > 0) || !std::isfinite(next) || !registerType(elementTypeOf(value)).isF32())
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
  Elements values = emitElements(exponent, firstColumn, -infinity);
  for (int64_t row = 0; row < getThreadRows(); ++row) {
    SmallVector<int64_t> mine;
    for (int64_t g = 0; g < getGroups(); ++g)
      for (int64_t e = 0; e < 2; ++e)
        mine.push_back(at(row / 2, g, (row % 2) * 2 + e));
    // A NaN is no maximum here, but its exponential is NaN, and so is the row.
    Value max = values[mine[0]];
    for (int64_t i : ArrayRef<int64_t>(mine).drop_front())
      max = b.create<arith::MaxNumFOp>(loc, max, values[i]);
    for (int64_t offset : {2, 1})
      max = b.create<arith::MaxNumFOp>(loc, max, code.shuffle(max, gpu::ShuffleMode::XOR, offset));
    if (factor != 1)
      max = b.create<arith::MulFOp>(loc, max, f32(factor));
    Value before = get(maxima, row);
    Value after = b.create<arith::MaxNumFOp>(loc, before, max);
    set(maxima, row, after);
    // Rows that have seen only -inf: every exponential is 0, not NaN.
    Value isEmpty = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, after, f32(-infinity));
    Value base = b.create<arith::SelectOp>(loc, isEmpty, f32(0), after);
    Value offset = b.create<arith::MulFOp>(loc, base, f32(-kLog2E));
    auto exponential = [&](Value exponent, double multiple) {
      return cores->exp2(b.create<LLVM::FMAOp>(loc, exponent, f32(kLog2E * multiple), offset));
    };
    Value scale = exponential(before, 1), sum = b.create<arith::MulFOp>(loc, get(sums, row), scale);
    for (int64_t i : mine) {
      values[i] = exponential(values[i], factor);
      sum = b.create<arith::AddFOp>(loc, sum, values[i]);
    }
    set(sums, row, sum);
    scales.push_back(scale);
  }
  return values;
}

/// Scales what the products have so far; mostly a row's maximum is what it was, in all rows of the warp.
void StreamedKernel::scaleProducts(ArrayRef<Value> scales) {
  for (auto [number, factor] : llvm::enumerate(scales)) {
    auto row = static_cast<int64_t>(number);
    Value scale = factor, changes = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, scale, f32(1));
    code.ifThen(cores->isAny(changes), [&] {
      for (auto [number, result] : llvm::enumerate(products.results)) {
        if (!result.streamed)
          continue;
        Value memory = accumulators[number];
        int64_t groups = llvm::alignTo(result.width, kMmaDepth) / kMmaColumns;
        for (int64_t g = 0; g < groups; ++g)
          for (int64_t e = 0; e < 2; ++e) {
            int64_t position = ((row / 2) * groups + g) * 4 + (row % 2) * 2 + e;
            set(memory, position, b.create<arith::MulFOp>(loc, get(memory, position), scale));
          }
      }
    });
  }
}

TensorCores::Left StreamedKernel::packWeights(Type type, const Elements &weights, int64_t rowTile,
                                              int64_t firstColumn) {
  // The registers of the weights of 16 columns are those of a left factor.
  int64_t g = firstColumn / kMmaColumns;
  auto pack = [&](int64_t group, int64_t e) {
    return cores->pack(type, weights[at(rowTile, group, e)], weights[at(rowTile, group, e + 1)]);
  };
  return {pack(g, 0), pack(g, 2), pack(g + 1, 0), pack(g + 1, 2)};
}

void StreamedKernel::addProduct(const StreamedProducts::Result &result, unsigned number, const Elements &weights,
                                Value buffer) {
  const StreamTiles::Tile &tile = tiles.findStreamed(*result.streamed);
  Type type = elementTypeOf(result.streamed->array);
  int64_t groups = tile.getWidth() / kMmaColumns;
  Elements sums = getAll(accumulators[number], getSumCount(result));
  if (tiles.unit == MatrixUnit::Warpgroup) {
    SmallVector<TensorCores::Left> rows;
    for (int64_t first = 0; first < tiles.columns; first += kMmaDepth)
      rows.push_back(packWeights(type, weights, 0, first));
    sums = warpgroups.multiplyAdd(describeProduct(result, std::move(rows), buffer), sums);
  } else {
    SharedTile right{bufferOf(tile, buffer), tile.pitch};
    for (int64_t first = 0; first < tiles.columns; first += kMmaDepth) {
      SmallVector<TensorCores::Left> rows;
      for (int64_t r = 0; r < tiles.rowTiles; ++r)
        rows.push_back(packWeights(type, weights, r, first));
      for (int64_t n = 0; n < groups; n += 2) {
        auto columns = cores->loadRight(right, n * kMmaColumns, first, /*isTransposed=*/true);
        for (int64_t r = 0; r < tiles.rowTiles; ++r)
          for (int64_t i = 0; i < 2; ++i) {
            Value *sum = &sums[(r * groups + n + i) * 4];
            llvm::copy(cores->multiply(type, rows[r], columns[i], {sum[0], sum[1], sum[2], sum[3]}), sum);
          }
      }
    }
  }
  setAll(accumulators[number], sums);
}

void StreamedKernel::addToRows(const StreamedProducts::Result &result, unsigned number, const Elements &weights) {
  auto reduce = cast<ReduceOp>(result.op);
  for (int64_t row = 0; row < getThreadRows(); ++row) {
    Value sum = get(accumulators[number], row);
    for (int64_t g = 0; g < getGroups(); ++g)
      for (int64_t e = 0; e < 2; ++e)
        sum = combineElements(b, loc, b.getF32Type(), reduce.getKind(), sum, weights[at(row / 2, g, (row % 2) * 2 + e)],
                              /*mayReorder=*/false);
    set(accumulators[number], row, sum);
  }
}

} // namespace spmdc
