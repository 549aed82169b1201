//===- StreamedTiles.cpp - a tile of columns of a streamed kernel ---------===//

#include "passes/gpu/StreamedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

void StreamedKernel::emitTile(Value tile) {
  if (tiles.unit == MatrixUnit::Warpgroup && !products.softmax)
    return emitBesideProducts(tile);
  multiplyScores(tile);
  Value firstColumn = code.mul(tile, tiles.columns);
  std::optional<Elements> exponentials;
  if (products.softmax) {
    SmallVector<Value> scales;
    exponentials = emitSoftmax(firstColumn, scales);
    scaleProducts(scales);
  }
  // Results with the same weights, such as two gradients, compute them once: LLVM joins equal code.
  SmallVector<std::pair<Value, Elements>> started;
  for (auto [number, result] : llvm::enumerate(products.results)) {
    if (products.softmax && !result.streamed)
      continue; // A maximum or a sum of the softmax itself.
    Elements weights = exponentials ? *exponentials : emitWeights(result, firstColumn);
    if (!result.streamed)
      addToRows(result, number, weights);
    else if (tiles.unit == MatrixUnit::Warp)
      addInWarp(result, number, weights, tile);
    else
      started.emplace_back(accumulators[number], startProduct(result, number, weights, tile));
  }
  auto running = static_cast<int64_t>(started.size());
  for (const auto &[sums, product] : started)
    setAll(sums, warpgroups.finish(product, --running));
}

void StreamedKernel::multiplyScores(Value buffer) {
  scores.clear();
  if (tiles.unit == MatrixUnit::Warp) {
    for (const StreamedProducts::Score &score : products.scores)
      scores.push_back(multiplyInWarp(score, buffer));
    return;
  }
  SmallVector<Elements> started;
  for (const StreamedProducts::Score &score : products.scores)
    started.push_back(warpgroups.start(describeScore(score, buffer), {}, tiles.columns));
  auto running = static_cast<int64_t>(started.size());
  for (const Elements &product : started)
    scores.push_back(warpgroups.finish(product, --running));
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

StreamedKernel::Elements StreamedKernel::startProduct(const StreamedProducts::Result &result, unsigned number,
                                                      const Elements &weights, Value buffer) {
  Type type = elementTypeOf(result.streamed->array);
  SmallVector<TensorCores::Left> rows;
  for (int64_t first = 0; first < tiles.columns; first += kMmaDepth)
    rows.push_back(packWeights(type, weights, 0, first));
  Elements sums = getAll(accumulators[number], getSumCount(result));
  return warpgroups.start(describeProduct(result, std::move(rows), buffer), sums,
                          static_cast<int64_t>(sums.size()) * 2);
}

void StreamedKernel::addInWarp(const StreamedProducts::Result &result, unsigned number, const Elements &weights,
                               Value buffer) {
  const StreamTiles::Tile &tile = tiles.findStreamed(*result.streamed);
  Type type = elementTypeOf(result.streamed->array);
  int64_t groups = tile.getWidth() / kMmaColumns;
  Elements sums = getAll(accumulators[number], getSumCount(result));
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
