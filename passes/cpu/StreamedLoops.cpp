//===- StreamedLoops.cpp - the loops of a streamed kernel for a CPU -------===//

#include "passes/cpu/StreamedLoops.h"

#include "passes/cpu/KernelFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Columns of a tile, a multiple of kProductColumns. Scores and weights of a tile, its two factors of 64 features, and
/// what a block holds are then 52 KiB of f32: not much more than a first-level cache, and far less than a second-level
/// one. Results are scaled once a tile, which costs little beside the products of so many columns.
constexpr int64_t kColumns = 48;
static_assert(kColumns % kProductColumns == 0);
/// A cache line, and the widest vector.
constexpr unsigned kAlignment = 64;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

KernelSchedule withIndexing(const StreamedProducts &products) {
  KernelSchedule schedule;
  schedule.indexing = products.indexing;
  return schedule;
}

bool isMax(const StreamedProducts::Result &result) {
  return !result.streamed && cast<ReduceOp>(result.op).getKind() == ReductionKind::max;
}

} // namespace

StreamedLoops::StreamedLoops(plan::KernelOp kernel, StreamedProducts found, const CpuUnits &units, ModuleOp target)
    : kernel(kernel), products(std::move(found)), target(target), loc(kernel.getLoc()), b(kernel.getContext()),
      body(KernelBody::of(kernel)), schedule(withIndexing(products)),
      emitter(b, loc, body, schedule,
              {[this](Value input) { return pointers.lookup(input); }, [](ReduceOp) -> Emitted { return {}; },
               [this](Value value, ArrayRef<IndexExpr> index) { return readElement(value, index); },
               [this](OpBuilder &builder, unsigned axis) { return loadCoordinate(builder, loc, coordinates, axis); },
               [this](Operation *access) { loops.annotate(access); }, Bf16Rounding::InMemoryAlone}),
      loops(b, loc, emitter), scratch(b, loc, [this](Operation *access) { loops.annotate(access); }),
      type(registerType(elementTypeOf(products.scores.front().op.getResult()))),
      vectors(b, loc, emitter, loops, type, units.vectorBytes),
      hasTiles(units.hasMatrixUnit && TileProducts::canMultiply(products)),
      tileColumns(hasTiles ? kMatrixColumns : kColumns), mask(PositionMask::find(products)) {}

void StreamedLoops::emit() {
  KernelFunction function = openKernelFunction(b, kernel, target);
  pointers = std::move(function.pointers);
  outputs = std::move(function.outputs);
  coordinates = function.coordinates;
  allocate();
  emitter.pushScope(function.entry);
  if (tiles)
    tiles->enter();
  Loop blocks = loops.open(function.begin, function.end, 1);
  blocks.isPlain = true;
  emitBlock(blocks.iv);
  loops.close(blocks);
  if (tiles)
    tiles->leave();
  b.create<LLVM::ReturnOp>(loc, ValueRange());
}

void StreamedLoops::allocate() {
  if (hasTiles)
    tiles.emplace(b, loc, emitter, loops, scratch);
  auto memory = [&](int64_t count) { return scratch.allocate(type, count * kStreamedRows, kAlignment); };
  auto stream = [&](const StreamedProducts::Factor &factor, bool isOfScore) {
    auto known = llvm::find_if(streamed, [&](const Streamed &known) { return known.factor == factor; });
    if (known == streamed.end()) {
      streamed.push_back({factor, {}, {}, {}, {}});
      known = std::prev(streamed.end());
    }
    Type element = elementTypeOf(factor.array);
    bool isConverted = !tiles && element != type;
    Value &place = isConverted ? known->converted : isOfScore ? known->copied : known->pairs;
    if (!place && (tiles || isConverted))
      place = scratch.allocate(tiles ? element : type, tileColumns * factor.width, kAlignment);
  };
  for (const StreamedProducts::Score &score : products.scores) {
    if (llvm::none_of(held, [&](const Held &known) { return known.factor == score.held; }))
      held.push_back({score.held, memory(score.held.width)});
    stream(score.streamed, /*isOfScore=*/true);
    scores.push_back(memory(tileColumns));
  }
  for (const StreamedProducts::Result &result : products.results) {
    bool isOfSoftmax = products.softmax && !result.streamed;
    accumulators.push_back(isOfSoftmax ? Value() : memory(result.streamed ? result.width : 1));
    tileSums.push_back(isOfSoftmax || result.streamed ? Value() : memory(1));
    if (!result.streamed)
      continue;
    stream(*result.streamed, /*isOfScore=*/false);
    if (llvm::none_of(weights, [&](const Weight &known) { return known.value == result.weight; }))
      weights.push_back({result.weight, memory(tileColumns)});
  }
  if (!products.softmax)
    return;
  if (weights.empty()) // Only the maximum and the sum.
    weights.push_back({Value(), memory(tileColumns)});
  for (Value *ofRow : {&maxima, &sums, &scales, &bases})
    *ofRow = memory(1);
  tileSums.push_back(memory(1));
}

//===----------------------------------------------------------------------===//
// A block of rows
//===----------------------------------------------------------------------===//

void StreamedLoops::emitBlock(Value position) {
  int64_t count = products.countRowBlocks(kStreamedRows), rowBlocks = llvm::divideCeil(products.rows, kStreamedRows);
  Value block = position;
  if (mask) {
    // The first and the last block by turns: a causal mask keeps more columns of later rows, and every part of the
    // parallel range should have as many of either.
    Value half = b.create<arith::DivUIOp>(loc, position, emitter.emitConstant(2));
    Value isOdd = b.create<arith::TruncIOp>(loc, b.getI1Type(), position);
    Value fromEnd = b.create<arith::SubIOp>(loc, emitter.emitConstant(count - 1), half);
    block = b.create<arith::SelectOp>(loc, isOdd, fromEnd, half);
  }
  Value blocks = emitter.emitConstant(rowBlocks);
  if (!products.batchVars.empty())
    loops.bindRow(b.create<arith::DivUIOp>(loc, block, blocks), products.batchVars, products.batchShape);
  firstRow = mul(b.create<arith::RemUIOp>(loc, block, blocks), kStreamedRows);
  holdRows();
  for (auto [number, result] : llvm::enumerate(products.results))
    if (accumulators[number])
      fill(accumulators[number], isMax(result) ? -kInfinity : 0, result.streamed ? result.width : 1);
  if (products.softmax) {
    fill(maxima, -kInfinity, 1);
    fill(sums, 0, 1);
  }
  Value all = emitter.emitConstant(products.columns);
  Loop columns = loops.open(emitter.emitConstant(0), all, tileColumns);
  columns.isPlain = true;
  firstColumn = columns.iv;
  columnCount =
      b.create<arith::MinSIOp>(loc, b.create<arith::SubIOp>(loc, all, firstColumn), emitter.emitConstant(tileColumns));
  emitTile();
  loops.close(columns);
  storeResults();
}

void StreamedLoops::holdRows() {
  for (const Held &rows : held) {
    auto [start, stride] = placeOf(rows.factor.position, products.rowVar);
    Type element = elementTypeOf(rows.factor.array);
    Value array = pointers.lookup(rows.factor.array);
    Loop features = loops.open(emitter.emitConstant(0), emitter.emitConstant(rows.factor.width), 1);
    features.isPlain = true;
    forLanes(/*allLanes=*/true, [&] {
      Value value = scratch.load(array, element, add(add(start, mul(at(lane), stride)), features.iv));
      if (tiles)
        scratch.store(rows.memory, element, tiles->placeOfHeld(features.iv, lane, rows.factor.width), value);
      else
        store(rows.memory, add(mul(features.iv, kStreamedRows), lane), value);
    });
    loops.close(features);
  }
}

void StreamedLoops::emitTile() {
  auto emitRest = [&](bool isFull) {
    emitWeights(isFull);
    if (products.softmax)
      emitSoftmax();
  };
  if (!mask) {
    multiplyScores();
    emitRest(/*isFull=*/true);
    emitProducts();
    return;
  }
  auto lastOf = [&](Value first, Value count, int64_t size) -> Value {
    Value last = b.create<arith::SubIOp>(loc, add(first, count), emitter.emitConstant(1));
    return b.create<arith::MinSIOp>(loc, last, emitter.emitConstant(size - 1));
  };
  PositionBounds bounds(b, loc, products,
                        {firstRow, lastOf(firstRow, emitter.emitConstant(kStreamedRows), products.rows)},
                        {firstColumn, lastOf(firstColumn, columnCount, products.columns)});
  PositionBounds::Bounds keeps = bounds.emit(*mask);
  loops.ifThen(keeps.high, [&] {
    multiplyScores();
    loops.ifThen(keeps.low, [&] { emitRest(/*isFull=*/true); }, [&] { emitRest(/*isFull=*/false); });
    emitProducts();
  });
}

void StreamedLoops::multiplyScores() {
  streamColumns();
  for (auto [score, memory] : llvm::zip(products.scores, scores)) {
    auto rows = llvm::find_if(held, [&](const Held &known) { return known.factor == score.held; });
    const Streamed &factor = findStreamed(score.streamed);
    if (tiles)
      tiles->multiply(rows->memory, factor.tile, score.held.width, memory);
    else
      vectors.multiply(rows->memory, factor.rows, score.held.width, columnCount, memory);
  }
}

void StreamedLoops::streamColumns() {
  for (Streamed &factor : streamed) {
    auto [start, stride] = placeOf(factor.factor.position, products.columnVar);
    Value array = pointers.lookup(factor.factor.array), tile = add(start, mul(firstColumn, stride));
    if (tiles) {
      TileProducts::Rows rows{array, tile, emitter.emitConstant(stride)};
      if (factor.copied)
        factor.tile = tiles->readWhole(rows, factor.factor.width, columnCount, factor.copied);
      if (factor.pairs)
        tiles->pairColumns(rows, factor.factor.width, columnCount, factor.pairs);
      continue;
    }
    Value last = b.create<arith::SubIOp>(loc, columnCount, emitter.emitConstant(1));
    if (!factor.converted) {
      factor.rows = {array, tile, stride, last};
      continue;
    }
    int64_t width = factor.factor.width;
    Type element = elementTypeOf(factor.factor.array);
    Loop columns = loops.open(emitter.emitConstant(0), columnCount, 1);
    columns.isPlain = true;
    Loop features = loops.open(emitter.emitConstant(0), emitter.emitConstant(width), 1, {}, /*isParallel=*/true);
    Value value = scratch.load(array, element, add(add(tile, mul(columns.iv, stride)), features.iv));
    store(factor.converted, add(mul(columns.iv, width), features.iv), value);
    loops.close(features);
    loops.close(columns);
    factor.rows = {factor.converted, emitter.emitConstant(0), width, last};
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

std::optional<ElementEmitter::Emitted> StreamedLoops::readElement(Value value, ArrayRef<IndexExpr> index) {
  for (auto [score, memory] : llvm::zip(products.scores, scores))
    if (score.op.getResult() == value && ArrayRef<IndexExpr>(score.index) == index) {
      emitter.moveTo(emitter.getDepth());
      return Emitted{load(memory, add(mul(column, kStreamedRows), lane)), emitter.getDepth()};
    }
  if (isKept && mask && value == mask->select.getResult())
    return Emitted{emitter.emit(mask->select->getOperand(mask->keeps ? 1 : 2), index), emitter.getDepth()};
  return std::nullopt;
}

/// Writes the weights of the tile, or the exponents of its softmax, and updates the reductions of its rows.
void StreamedLoops::emitWeights(bool isFull) {
  isKept = isFull;
  bool isSoftmax = products.softmax.has_value();
  for (auto [sum, result] : llvm::zip(tileSums, products.results))
    if (sum)
      fill(sum, isMax(result) ? -kInfinity : 0, 1);
  if (isSoftmax)
    forLanes(/*allLanes=*/true, [&] { store(bases, lane, load(maxima, lane)); });
  forColumns([&] {
    forLanes(/*allLanes=*/true, [&] {
      Value position = add(mul(column, kStreamedRows), lane);
      if (isSoftmax) {
        Value exponent = emitter.emit(products.softmax->exponent, products.weightIndex);
        store(weights.front().memory, position, exponent);
        // A NaN is no maximum here, but its exponential is NaN, and so is the row.
        Value max = load(bases, lane);
        Value isLarger = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, exponent, max);
        store(bases, lane, b.create<arith::SelectOp>(loc, isLarger, exponent, max));
        return;
      }
      for (const Weight &weight : weights)
        store(weight.memory, position, emitter.emit(weight.value, products.weightIndex));
      for (auto [sum, result] : llvm::zip(tileSums, products.results))
        if (sum)
          store(sum, lane,
                combineElements(b, loc, type, cast<ReduceOp>(result.op).getKind(), load(sum, lane),
                                emitter.emit(result.weight, products.weightIndex), /*mayReorder=*/false));
    });
  });
  forLanes(/*allLanes=*/true, [&] {
    for (auto [number, result] : llvm::enumerate(products.results))
      if (tileSums[number])
        store(accumulators[number], lane,
              combineElements(b, loc, type, cast<ReduceOp>(result.op).getKind(), load(accumulators[number], lane),
                              load(tileSums[number], lane), /*mayReorder=*/false));
  });
}

/// Replaces the exponents of the tile by exponentials relative to the largest exponent so far, and scales sums.
void StreamedLoops::emitSoftmax() {
  Value tileSum = tileSums.back(), memory = weights.front().memory;
  auto exp = [&](Value value) -> Value { return b.create<math::ExpOp>(loc, value); };
  forLanes(/*allLanes=*/true, [&] {
    Value after = load(bases, lane), before = load(maxima, lane);
    // Rows that have seen only -inf: every exponential is 0, not NaN.
    Value isEmpty = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, after, number(-kInfinity));
    Value base = b.create<arith::SelectOp>(loc, isEmpty, number(0), after);
    store(scales, lane, exp(b.create<arith::SubFOp>(loc, before, base)));
    store(bases, lane, base);
    store(maxima, lane, after);
    store(tileSum, lane, number(0));
  });
  forColumns([&] {
    forLanes(/*allLanes=*/true, [&] {
      Value position = add(mul(column, kStreamedRows), lane);
      Value value = exp(b.create<arith::SubFOp>(loc, load(memory, position), load(bases, lane)));
      store(memory, position, value);
      store(tileSum, lane, b.create<arith::AddFOp>(loc, load(tileSum, lane), value));
    });
  });
  forLanes(/*allLanes=*/true, [&] {
    Value scaled = b.create<arith::MulFOp>(loc, load(sums, lane), load(scales, lane));
    store(sums, lane, b.create<arith::AddFOp>(loc, scaled, load(tileSum, lane)));
  });
}

void StreamedLoops::emitProducts() {
  Value turned;
  for (auto [number, result] : llvm::enumerate(products.results)) {
    if (!result.streamed)
      continue;
    Value weight = weights.front().memory, scalesOfRows = products.softmax ? scales : Value();
    for (const Weight &known : weights)
      if (!products.softmax && known.value == result.weight)
        weight = known.memory;
    const Streamed &factor = findStreamed(*result.streamed);
    if (!tiles) {
      vectors.add(weight, factor.rows, result.width, columnCount, accumulators[number], scalesOfRows);
      continue;
    }
    if (weight != turned)
      tiles->turnWeights(weight, columnCount);
    turned = weight;
    tiles->add(factor.pairs, result.width, accumulators[number], scalesOfRows);
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void StreamedLoops::storeResults() {
  for (auto [number, result] : llvm::enumerate(products.results))
    result.streamed ? storeProduct(number) : storeRow(number);
}

void StreamedLoops::storeProduct(unsigned number) {
  const StreamedProducts::Result &result = products.results[number];
  auto [start, stride] = placeOf(result.position, products.rowVar);
  Value rows =
      b.create<arith::MinSIOp>(loc, b.create<arith::SubIOp>(loc, emitter.emitConstant(products.rows), firstRow),
                               emitter.emitConstant(kStreamedRows));
  Loop lanes = loops.open(emitter.emitConstant(0), rows, 1);
  lanes.isPlain = true;
  Value row = add(start, mul(add(firstRow, lanes.iv), stride));
  Value sum = products.softmax ? load(sums, lanes.iv) : Value();
  Loop features = loops.open(emitter.emitConstant(0), emitter.emitConstant(result.width), 1, {}, /*isParallel=*/true);
  Value place = tiles ? tiles->placeOfResult(features.iv, lanes.iv, result.width)
                      : add(mul(features.iv, kStreamedRows), lanes.iv);
  Value value = load(accumulators[number], place);
  if (sum)
    value = b.create<arith::DivFOp>(loc, value, sum);
  storeOutput(number, add(row, features.iv), value);
  loops.close(features);
  loops.close(lanes);
}

void StreamedLoops::storeRow(unsigned number) {
  const StreamedProducts::Result &result = products.results[number];
  auto [start, stride] = placeOf(result.position, products.rowVar);
  Type storedMax = type;
  for (const StreamedProducts::Result &other : products.results)
    if (products.softmax && other.op == products.softmax->max)
      storedMax = elementTypeOf(body.outputs[&other - products.results.begin()]);
  forLanes(/*allLanes=*/false, [&, start = start, stride = stride] {
    Value value;
    if (!products.softmax) {
      value = load(accumulators[number], lane);
    } else {
      Value max = load(maxima, lane), sum = load(sums, lane);
      if (result.op == products.softmax->max) {
        // The sum of a row with a NaN is NaN, and so is its maximum. (The sum with an infinity is, too.)
        Value isNumber = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ORD, sum, sum);
        Value isInfinite = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, max, this->number(kInfinity));
        value = b.create<arith::SelectOp>(loc, b.create<arith::OrIOp>(loc, isNumber, isInfinite), max, sum);
      } else {
        // Other kernels read the maximum as it is stored: the sum must be that of exponentials relative to this value.
        Value difference = b.create<arith::SubFOp>(loc, max, roundElement(b, loc, storedMax, max));
        Value isFinite = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ORD, difference, difference);
        difference = b.create<arith::SelectOp>(loc, isFinite, difference, this->number(0));
        value = b.create<arith::MulFOp>(loc, sum, b.create<math::ExpOp>(loc, difference));
      }
    }
    storeOutput(number, add(start, mul(at(lane), stride)), value);
  });
}

void StreamedLoops::storeOutput(unsigned number, Value position, Value value) {
  Type element = elementTypeOf(body.outputs[number]);
  scratch.store(outputs[number], element, position, roundElement(b, loc, element, value));
}

//===----------------------------------------------------------------------===//
// Loops and positions
//===----------------------------------------------------------------------===//

void StreamedLoops::forColumns(llvm::function_ref<void()> emitBody) {
  Loop columns = loops.open(emitter.emitConstant(0), columnCount, 1);
  columns.isPlain = true;
  column = columns.iv;
  emitter.bind(products.columnVar, add(firstColumn, column));
  emitBody();
  loops.close(columns);
  column = Value();
}

void StreamedLoops::forLanes(bool allLanes, llvm::function_ref<void()> emitBody) {
  Value count = emitter.emitConstant(kStreamedRows);
  if (!allLanes && products.rows % kStreamedRows != 0)
    count = b.create<arith::MinSIOp>(loc, b.create<arith::SubIOp>(loc, emitter.emitConstant(products.rows), firstRow),
                                     count);
  Loop lanes = loops.open(emitter.emitConstant(0), count, 1, {}, /*isParallel=*/true);
  // Accumulators of full tiles stay in registers from column to column if the vectors are unrolled.
  lanes.isCompact = !isKept || !column;
  lane = lanes.iv;
  emitter.bind(products.rowVar, at(lane));
  emitBody();
  loops.close(lanes);
}

Value StreamedLoops::at(Value row) {
  Value position = add(firstRow, row);
  if (products.rows % kStreamedRows == 0)
    return position;
  return b.create<arith::MinSIOp>(loc, position, emitter.emitConstant(products.rows - 1));
}

void StreamedLoops::fill(Value memory, double value, int64_t count) {
  Loop all = loops.open(emitter.emitConstant(0), emitter.emitConstant(count * kStreamedRows), 1, {},
                        /*isParallel=*/true);
  store(memory, all.iv, number(value));
  loops.close(all);
}

std::pair<Value, int64_t> StreamedLoops::placeOf(const IndexExpr &position, const IndexExpr &variable) {
  IndexExpr start;
  start.constant = position.constant;
  int64_t stride = variable.isConstant() ? 0 : position.coefficientOf(variable.terms[0].first);
  for (const auto &term : position.terms) {
    bool isBatch = llvm::any_of(products.batchVars, [&](const IndexExpr &batch) {
      return !batch.isConstant() && batch.terms[0].first == term.first;
    });
    if (isBatch)
      start.terms.push_back(term);
  }
  return {emitter.emitIndex(start), stride};
}

Value StreamedLoops::number(double value) { return b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, value)); }

StreamedLoops::Streamed &StreamedLoops::findStreamed(const StreamedProducts::Factor &factor) {
  return *llvm::find_if(streamed, [&](const Streamed &known) { return known.factor == factor; });
}

Value StreamedLoops::add(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }

Value StreamedLoops::mul(Value x, int64_t y) {
  return y == 1 ? x : b.create<arith::MulIOp>(loc, x, emitter.emitConstant(y)).getResult();
}

} // namespace spmdc
