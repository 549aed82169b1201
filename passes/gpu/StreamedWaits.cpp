//===- StreamedWaits.cpp - what a warpgroup computes before which wait ----===//
//
// A gradient's weights need two scores: the softmax's exponentials those of queries and keys, the rest those of the
// result's gradient, too. The products of both scores run at the same time. Exponentials are computed while the second
// one runs, and weights that need no more begin their own product then.
//
// The maximum, the sum and all else that a row alone decides are loaded once, before all tiles; that which a
// column decides, before the wait behind which it is needed.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/StreamedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

void StreamedKernel::addNeeded(Value value) {
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    value = pending.pop_back_val();
    Operation *op = body.contains(value) ? value.getDefiningOp() : nullptr;
    if (neededFirst.insert(value).second && op && !isa<DotGeneralOp>(op))
      llvm::append_range(pending, op->getOperands());
  }
}

void StreamedKernel::orderScores() {
  kernel.getBlock().walk([&](ExpOp op) { addNeeded(op.getOperand()); });
  SmallVector<StreamedProducts::Score> ordered;
  for (bool isFirst : {true, false})
    llvm::copy_if(products.scores, std::back_inserter(ordered), [&](const StreamedProducts::Score &score) {
      return neededFirst.contains(score.op->getResult(0)) == isFirst;
    });
  products.scores = std::move(ordered);
  // Without a score, a value has none here.
  for (auto [number, score] : llvm::enumerate(products.scores))
    lastScores[score.op->getResult(0)] = number;
  for (Operation &op : kernel.getBlock())
    for (Value operand : op.getOperands())
      if (std::optional<unsigned> last = findLastScore(operand); last && !isa<DotGeneralOp>(op)) {
        unsigned &ofResult = lastScores[op.getResult(0)];
        ofResult = std::max(ofResult, *last);
      }
  for (const StreamedProducts::Result &result : products.results)
    if (findLastScore(result.weight) < products.scores.size() - 1)
      addNeeded(result.weight);
}

std::optional<unsigned> StreamedKernel::findLastScore(Value value) const {
  auto last = lastScores.find(value);
  return last == lastScores.end() ? std::nullopt : std::optional<unsigned>(last->second);
}

std::optional<StreamedKernel::EarlyValue> StreamedKernel::describeEarlyValue(Value value,
                                                                             ArrayRef<IndexExpr> index) const {
  EarlyValue early;
  early.value = value;
  early.index.assign(index.begin(), index.end());
  if (!registerType(elementTypeOf(value)).isF32())
    return std::nullopt;
  unsigned lastScore = products.scores.size() - 1;
  if (body.contains(value)) {
    std::optional<unsigned> last = findLastScore(value);
    early.score = last.value_or(lastScore);
    return value.getDefiningOp<ExpOp>() && early.score < lastScore ? std::optional(early) : std::nullopt;
  }
  const IndexSpace &space = products.indexing->space;
  auto dependsOn = [&](const IndexExpr &variable) {
    return !variable.isConstant() && llvm::any_of(index, [&](const IndexExpr &position) {
      return space.dependsOn(position, variable.terms[0].first);
    });
  };
  // Positions that are read under a condition may be outside of the array elsewhere.
  bool isInside = llvm::all_of(llvm::zip(index, cast<ArrayType>(value.getType()).getShape()), [&](auto pair) {
    IndexRange range = space.rangeOf(std::get<0>(pair));
    return range.low >= 0 && range.high < std::get<1>(pair);
  });
  bool isOfRow = !dependsOn(products.columnVar), isOfColumn = !dependsOn(products.rowVar);
  if (!isInside || !(isOfRow || isOfColumn))
    return std::nullopt;
  early.kind = isOfRow ? EarlyValue::OfRow : EarlyValue::OfColumn;
  early.score = neededFirst.contains(value) ? 0 : lastScore;
  return early;
}

void StreamedKernel::noteEarlyValue(Value value, ArrayRef<IndexExpr> index) {
  if (std::optional<EarlyValue> early = describeEarlyValue(value, index); early && !findEarlyValue(value, index))
    earlyValues.push_back(std::move(*early));
}

const StreamedKernel::EarlyValue *StreamedKernel::findEarlyValue(Value value, ArrayRef<IndexExpr> index) const {
  const auto *found = llvm::find_if(earlyValues, [&](const EarlyValue &early) {
    return early.value == value && ArrayRef<IndexExpr>(early.index) == index;
  });
  return found == earlyValues.end() ? nullptr : found;
}

Value StreamedKernel::readEarlyValue(Value value, ArrayRef<IndexExpr> index) const {
  const EarlyValue *early = findEarlyValue(value, index);
  if (!early || early->values.empty())
    return {};
  // Elements have the order of `at`.
  int64_t tile = element / 4 / getGroups(), group = element / 4 % getGroups(), inGroup = element % 4;
  switch (early->kind) {
  case EarlyValue::OfRow:
    return early->values[2 * tile + inGroup / 2];
  case EarlyValue::OfColumn:
    return early->values[2 * group + inGroup % 2];
  case EarlyValue::Exponential:
    return early->values[element];
  }
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
    if (early.kind == EarlyValue::OfRow)
      load(early, products.rowVar, threadRows,
           products.rows % tiles.getBlockRows() ? std::optional(products.rows) : std::nullopt);
}

void StreamedKernel::load(EarlyValue &early, const IndexExpr &variable, ArrayRef<Value> positions,
                          std::optional<int64_t> limit) {
  Elements values; // Not those of `early`, which must not find itself.
  for (Value position : positions)
    code.inScope([&] {
      // Arrays are read inside their bounds.
      if (limit)
        position = b.create<arith::MinSIOp>(loc, position, emitter.emitConstant(*limit - 1));
      emitter.bind(variable, position);
      values.push_back(emitter.emit(early.value, early.index));
    });
  early.values = std::move(values);
}

void StreamedKernel::loadColumns(unsigned score, Value firstColumn) {
  SmallVector<Value> columns;
  for (int64_t g = 0; g < getGroups(); ++g)
    for (int64_t e = 0; e < 2; ++e)
      columns.push_back(code.add(code.add(firstColumn, pairColumn), emitter.emitConstant(g * kMmaColumns + e)));
  for (EarlyValue &early : earlyValues)
    if (early.kind == EarlyValue::OfColumn && early.score == score)
      load(early, products.columnVar, columns, hasTail() && !isWhole ? std::optional(products.columns) : std::nullopt);
}

StreamedKernel::Elements StreamedKernel::computeExponentials(unsigned score, Value firstColumn) {
  Elements all;
  for (EarlyValue &early : earlyValues)
    if (early.kind == EarlyValue::Exponential && early.score == score) {
      Elements values = emitElements(early.value, early.index, firstColumn);
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
    loadColumns(number, firstColumn);
    scores.push_back(warpgroups.finish(score, static_cast<int64_t>(later + started.size())));
    Elements exponentials = computeExponentials(number, firstColumn);
    bool hasStarted = false;
    for (auto [resultNumber, result] : llvm::enumerate(products.results)) {
      // Tiles with a mask or an end have too few registers to hold what their products read and other weights at the
      // same time.
      bool isReady = later == 0 || (isKept && isWhole && findLastScore(result.weight) <= number);
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
    if (later > 0 && !hasStarted && !exponentials.empty())
      keepBehind(exponentials, streams.front(), tile);
  }
  auto running = static_cast<int64_t>(started.size());
  for (const auto &[sums, product] : started)
    setAll(sums, warpgroups.finish(product, --running));
  for (EarlyValue &early : earlyValues)
    if (early.kind != EarlyValue::OfRow)
      early.values.clear();
}

} // namespace spmdc
