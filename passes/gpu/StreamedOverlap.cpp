//===- StreamedOverlap.cpp - products beside the softmax of the next tile -===//
//
// A warpgroup does for each tile:
//
//   start   scores of this tile
//   start   products of the weights of the tile before
//   finish  the scores; their softmax, while these products, and those of other warpgroups, run
//   finish  the products; scale them to the new maximum
//
// Two warpgroups take turns to start (Turns.h). Copies of later tiles begin while a warpgroup waits for its scores: by
// then, the other one has its scores of the tile before, whose buffer is filled again.
//
// Tiles of 128 columns read the left factors of scores from shared memory. For narrower ones, that would take as long
// as the products themselves, so the factors are in registers. The first wait is for scores alone and the second one
// for products, so the softmax must stay between them, which `keepBehind` ensures.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/StreamedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

void StreamedKernel::emitOverlapped() {
  Value one = emitter.emitConstant(1), first = keptTiles.begin, second = code.add(first, one);
  Stream &ofScores = streams[0], &ofProducts = streams[1];
  waitForCopies(ofScores, first);
  if (tiles.keepsHeld)
    loadHeld();
  fillAhead(ofScores, first);
  // The mask may keep a part of the first tile. If it keeps no tile at all, all weights of this one are zero.
  isKept = !mask;
  isWhole = !mask && countWholeTiles() > 0;
  multiplyScores(first);
  release(ofScores, first);
  SmallVector<Value> scales; // There is nothing yet to scale.
  keepWeights(emitSoftmax(code.mul(first, tiles.columns), scales));
  emitLoops(second, [&](Value begin, Value end) { emitOverlappedTiles(begin, end); });
  Value last = b.create<arith::SubIOp>(loc, keptTiles.end, one);
  waitForCopies(ofProducts, last);
  for (auto [number, result] : llvm::enumerate(products.results)) {
    if (!result.streamed)
      continue;
    Elements sums = getAll(accumulators[number], getSumCount(result));
    setAll(accumulators[number], warpgroups.multiplyAdd(describeProduct(result, getKeptWeights(), last), sums));
  }
}

void StreamedKernel::emitOverlappedTiles(Value begin, Value end) {
  Value one = emitter.emitConstant(1);
  Stream &ofScores = streams[0], &ofProducts = streams[1];
  code.loop(begin, end, one, [&](Value tile) {
    Value before = b.create<arith::SubIOp>(loc, tile, one);
    waitForCopies(ofScores, tile, &ofProducts, before);
    if (turns)
      turns->take(b.create<arith::SubIOp>(loc, before, keptTiles.begin));
    SmallVector<Elements> startedScores, startedProducts;
    for (const StreamedProducts::Score &score : products.scores)
      startedScores.push_back(warpgroups.start(describeScore(score, tile), {}, tiles.columns));
    for (auto [number, result] : llvm::enumerate(products.results))
      if (result.streamed) {
        Elements sums = getAll(accumulators[number], getSumCount(result));
        startedProducts.push_back(warpgroups.start(describeProduct(result, getKeptWeights(), before), sums,
                                                   static_cast<int64_t>(sums.size()) * 2));
      }
    if (turns)
      turns->pass();
    fillAhead(ofScores, tile);
    fillAhead(ofProducts, before);
    auto running = static_cast<int64_t>(startedScores.size() + startedProducts.size());
    scores.clear();
    for (const Elements &started : startedScores)
      scores.push_back(warpgroups.finish(started, --running));
    release(ofScores, tile);
    SmallVector<Value> scales;
    Elements exponentials = emitSoftmax(code.mul(tile, tiles.columns), scales);
    keepBehind(getAll(sums, getThreadRows()), ofScores, tile);
    auto next = startedProducts.begin();
    for (auto [number, result] : llvm::enumerate(products.results))
      if (result.streamed)
        setAll(accumulators[number], warpgroups.finish(*next++, --running));
    release(ofProducts, before);
    scaleProducts(scales);
    keepWeights(exponentials);
  });
}

void StreamedKernel::keepBehind(ArrayRef<Value> values, Stream &stream, Value tile) {
  // Together, their bits are negative as soon as one value is, by one instruction for two of them, and a NaN if one is.
  // ptxas would know of a minimum of exponentials that it is not negative.
  Value bits;
  for (Value value : values) {
    Value own = b.create<arith::BitcastOp>(loc, b.getI32Type(), value);
    bits = bits ? b.create<arith::OrIOp>(loc, bits, own).getResult() : own;
  }
  Value together = b.create<arith::BitcastOp>(loc, b.getF32Type(), bits);
  Value isNegative = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, together, f32(0));
  stream.ring.releaseIf(isNegative, getUse(tile));
}

void StreamedKernel::loadHeld() {
  Value row = code.add(warpRow, cores->getLaneRow());
  for (const StreamTiles::Tile &tile : tiles.held) {
    Value memory = code.getLaunchShared(tile.offset);
    SmallVector<TensorCores::Left> &rows = heldRows.emplace_back();
    for (int64_t depth = 0; depth < tile.factor.width; depth += kMmaDepth) {
      Value unit = code.add(cores->getLaneHalf(), emitter.emitConstant(depth / kStreamedUnit));
      rows.push_back(cores->loadLeft(b.create<LLVM::GEPOp>(loc, memory.getType(), b.getI16Type(), memory,
                                                           ArrayRef<LLVM::GEPArg>{positionOf(tile, row, unit)},
                                                           /*inbounds=*/true)));
    }
  }
}

void StreamedKernel::keepWeights(const Elements &weights) {
  auto product =
      llvm::find_if(products.results, [](const StreamedProducts::Result &result) { return result.streamed; });
  Type type = elementTypeOf(product->streamed->array);
  int64_t position = 0;
  for (int64_t first = 0; first < tiles.columns; first += kMmaDepth)
    for (Value word : packWeights(type, weights, 0, first))
      code.store(keptWeights, b.getI32Type(), emitter.emitConstant(position++), word);
}

SmallVector<TensorCores::Left> StreamedKernel::getKeptWeights() {
  SmallVector<TensorCores::Left> rows(tiles.columns / kMmaDepth);
  int64_t position = 0;
  for (TensorCores::Left &row : rows)
    for (Value &word : row)
      word = code.load(keptWeights, b.getI32Type(), emitter.emitConstant(position++));
  return rows;
}

} // namespace spmdc
