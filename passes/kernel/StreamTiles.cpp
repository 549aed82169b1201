//===- StreamTiles.cpp - the tiles of a streamed kernel -------------------===//

#include "passes/kernel/StreamTiles.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Registers of a thread for accumulators, scores and weights. A thread has 255; addresses and factors need the others.
constexpr int64_t kMaxRegisters = 208;
/// Elements between the ends of a row in shared memory and the begin of the next: rows of a multiple of 32 bytes, 16
/// bytes apart from such a multiple, begin in different banks.
constexpr int64_t kRowPadding = 8;
/// Blocks below which smaller tiles occupy more multiprocessors: two for each of an H100's.
constexpr int64_t kManyBlocks = 264;

const StreamTiles::Tile &findTile(ArrayRef<StreamTiles::Tile> tiles, const StreamedProducts::Factor &factor) {
  return *llvm::find_if(tiles, [&](const StreamTiles::Tile &tile) { return tile.factor == factor; });
}

void add(SmallVectorImpl<StreamTiles::Tile> &tiles, const StreamedProducts::Factor &factor) {
  if (llvm::none_of(tiles, [&](const StreamTiles::Tile &tile) { return tile.factor == factor; }))
    tiles.push_back({factor});
}

/// Registers of 16 x 8 elements for each of a warp's 32 threads.
int64_t countRegisters(const StreamedProducts &products, int64_t rowTiles, int64_t columns) {
  int64_t accumulators = 0, weights = 0;
  for (const StreamedProducts::Result &result : products.results) {
    accumulators += llvm::alignTo(result.width, kMmaDepth) / 2;
    weights += result.streamed ? columns / 4 : 0;
  }
  return rowTiles * (accumulators + weights + static_cast<int64_t>(products.scores.size()) * columns / 2);
}

} // namespace

const StreamTiles::Tile &StreamTiles::findHeld(const StreamedProducts::Factor &factor) const {
  return findTile(held, factor);
}

const StreamTiles::Tile &StreamTiles::findStreamed(const StreamedProducts::Factor &factor) const {
  return findTile(streamed, factor);
}

std::optional<StreamTiles> StreamTiles::choose(const StreamedProducts &products, int64_t sharedLimit) {
  StreamTiles tiles;
  for (const StreamedProducts::Score &score : products.scores) {
    add(tiles.held, score.held);
    add(tiles.streamed, score.streamed);
  }
  for (const StreamedProducts::Result &result : products.results)
    if (result.streamed)
      add(tiles.streamed, *result.streamed);
  int64_t batch = 1;
  for (int64_t size : products.batchShape)
    batch *= size;
  // Large tiles first: each factor in shared memory is read once for all rows of a warp.
  for (auto [rowTiles, columns] : {std::pair<int64_t, int64_t>{2, 64}, {2, 32}, {1, 64}, {1, 32}, {1, 16}}) {
    tiles.rowTiles = rowTiles;
    tiles.columns = columns;
    tiles.rowBlocks = llvm::divideCeil(products.rows, tiles.getBlockRows());
    tiles.gridBlocks = batch * tiles.rowBlocks;
    tiles.sharedBytes = 0;
    auto place = [&](Tile &tile, int64_t rows, int64_t buffers) {
      tile.rows = rows;
      tile.pitch = tile.getWidth() + kRowPadding;
      tile.offset = tiles.sharedBytes;
      tiles.sharedBytes += buffers * tile.getBytes();
    };
    for (Tile &tile : tiles.held)
      place(tile, tiles.getBlockRows(), 1);
    for (Tile &tile : tiles.streamed)
      place(tile, columns, 2);
    bool isLast = rowTiles == 1 && columns == 16;
    if (tiles.sharedBytes <= sharedLimit && (isLast || countRegisters(products, rowTiles, columns) <= kMaxRegisters) &&
        (rowTiles == 1 || tiles.gridBlocks >= kManyBlocks))
      return tiles;
  }
  return std::nullopt;
}

std::string StreamTiles::str() const {
  return "tiles of " + std::to_string(getBlockRows()) + " rows and " + std::to_string(columns) + " columns; " +
         std::to_string(gridBlocks) + " blocks of " + std::to_string(getBlockThreads()) + " threads";
}

} // namespace spmdc
