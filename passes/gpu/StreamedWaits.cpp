//===- StreamedWaits.cpp - what a warpgroup computes before which wait ----===//
//
// A gradient's weights need two scores: the softmax's exponentials those of queries and keys, the rest those of the
// result's gradient, too. The products of both scores run at the same time. Exponentials are computed while the second
// one runs, and weights that need no more begin their own product then.
//
// What a row alone decides, such as the maximum and the sum of its softmax, is loaded once, before all tiles.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/StreamedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

void StreamedKernel::orderScores() {
  DenseSet<Value> needed;
  SmallVector<Value> pending;
  kernel.getBlock().walk([&](ExpOp op) { pending.push_back(op.getOperand()); });
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (Operation *op = body.contains(value) ? value.getDefiningOp() : nullptr; op && needed.insert(value).second)
      llvm::append_range(pending, op->getOperands());
  }
  SmallVector<StreamedProducts::Score> ordered;
  for (bool isFirst : {true, false})
    llvm::copy_if(products.scores, std::back_inserter(ordered), [&](const StreamedProducts::Score &score) {
      return needed.contains(score.op->getResult(0)) == isFirst;
    });
  products.scores = std::move(ordered);
  // Without a score, a value has none here.
  for (auto [number, score] : llvm::enumerate(products.scores))
    lastScores[score.op->getResult(0)] = number;
  for (Operation &op : kernel.getBlock())
    for (Value operand : op.getOperands())
      if (auto last = lastScores.find(operand); last != lastScores.end() && !isa<DotGeneralOp>(op)) {
        unsigned &ofResult = lastScores.try_emplace(op.getResult(0), last->second).first->second;
        ofResult = std::max(ofResult, last->second);
      }
}

std::optional<unsigned> StreamedKernel::findLastScore(Value value) const {
  auto last = lastScores.find(value);
  return last == lastScores.end() ? std::nullopt : std::optional<unsigned>(last->second);
}

bool StreamedKernel::isOfRow(Value value, ArrayRef<IndexExpr> index) const {
  const IndexSpace &space = products.indexing->space;
  auto isFixed = [&](const IndexExpr &position, int64_t size) {
    // Other positions are read under conditions.
    IndexRange range = space.rangeOf(position);
    return !space.dependsOn(position, products.columnVar.terms[0].first) && range.low >= 0 && range.high < size;
  };
  return !body.contains(value) && llvm::all_of(llvm::zip(index, cast<ArrayType>(value.getType()).getShape()),
                                               [&](auto pair) { return std::apply(isFixed, pair); });
}

void StreamedKernel::findEarlyValues() {
  // The code of one element finds them, and is of no other use: LLVM removes it.
  findsEarlyValues = true;
  code.inScope([&] {
    emitter.bind(products.rowVar, emitter.emitConstant(0));
    emitter.bind(products.columnVar, emitter.emitConstant(0));
    for (const StreamedProducts::Result &result : products.results)
      emitter.emit(result.weight, products.weightIndex);
  });
  findsEarlyValues = false;
  for (EarlyValue &early : earlyValues)
    for (int64_t row = 0; !early.lastScore && row < getThreadRows(); ++row)
      code.inScope([&] {
        emitter.bind(products.rowVar, b.create<arith::MinSIOp>(loc, threadRows[row],
                                                               emitter.emitConstant(products.rows - 1)));
        early.values.push_back(emitter.emit(early.value, early.index));
      });
}

void StreamedKernel::noteEarlyValue(Value value, ArrayRef<IndexExpr> index) {
  EarlyValue early{value, {index.begin(), index.end()}, findLastScore(value), {}};
  bool isEarly = early.lastScore ? value.getDefiningOp<ExpOp>() && *early.lastScore + 1 < products.scores.size()
                                 : isOfRow(value, index);
  if (isEarly && registerType(elementTypeOf(value)).isF32() && !findEarlyValue(value, index))
    earlyValues.push_back(std::move(early));
}

const StreamedKernel::EarlyValue *StreamedKernel::findEarlyValue(Value value, ArrayRef<IndexExpr> index) const {
  auto *found = llvm::find_if(earlyValues, [&](const EarlyValue &early) {
    return early.value == value && ArrayRef<IndexExpr>(early.index) == index;
  });
  return found == earlyValues.end() ? nullptr : found;
}

Value StreamedKernel::readEarlyValue(Value value, ArrayRef<IndexExpr> index) const {
  const EarlyValue *early = findEarlyValue(value, index);
  if (!early || early->values.empty())
    return {};
  // Elements have the order of `at`.
  int64_t row = 2 * (element / (4 * getGroups())) + element % 4 / 2;
  return early->values[early->lastScore ? element : row];
}

StreamedKernel::Elements StreamedKernel::computeEarlyValues(unsigned lastScore, Value firstColumn) {
  Elements all;
  for (EarlyValue &early : earlyValues)
    if (early.lastScore == lastScore) {
      Elements values = emitElements(early.value, early.index, firstColumn); // Must not find itself.
      llvm::append_range(all, values);
      early.values = std::move(values);
    }
  return all;
}

void StreamedKernel::emitBesideProducts(Value tile) {
  Value firstColumn = code.mul(tile, tiles.columns);
  SmallVector<Elements> startedScores;
  for (const StreamedProducts::Score &score : products.scores)
    startedScores.push_back(warpgroups.start(describeScore(score, tile), {}, tiles.columns));
  SmallVector<std::pair<Value, Elements>> started;
  SmallVector<bool> isDone(products.results.size());
  scores.clear();
  for (auto [position, score] : llvm::enumerate(startedScores)) {
    unsigned number = position;
    size_t later = startedScores.size() - number - 1;
    scores.push_back(warpgroups.finish(score, static_cast<int64_t>(later + started.size())));
    Elements early = computeEarlyValues(number, firstColumn);
    bool hasStarted = false;
    for (auto [resultNumber, result] : llvm::enumerate(products.results)) {
      // Tiles with a mask have too few registers to hold what their products read and other weights at the same time.
      bool isReady = later == 0 || (isKept && findLastScore(result.weight) <= number);
      if (isDone[resultNumber] || !isReady)
        continue;
      isDone[resultNumber] = true;
      Elements weights = emitWeights(result, firstColumn);
      if (!result.streamed) {
        addToRows(result, resultNumber, weights);
        continue;
      }
      started.emplace_back(accumulators[resultNumber], startProduct(result, resultNumber, weights, tile));
      hasStarted = true;
    }
    if (later > 0 && !hasStarted && !early.empty())
      keepBehind(early, streams.front(), tile);
  }
  auto running = static_cast<int64_t>(started.size());
  for (const auto &[sums, product] : started)
    setAll(sums, warpgroups.finish(product, --running));
  for (EarlyValue &value : earlyValues)
    if (value.lastScore)
      value.values.clear();
}

} // namespace spmdc
