//===- StreamTiles.cpp - the tiles of a streamed kernel -------------------===//

#include "passes/kernel/StreamTiles.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Registers of a thread that hold addresses, and other values beside accumulators, scores and weights.
constexpr int64_t kOtherRegisters = 47;
constexpr int64_t kMaxRegisters = 255, kRegistersOfMultiprocessor = 65536;
/// Elements between the end of a row in shared memory and the begin of the next: rows of a multiple of 32 bytes, 16
/// bytes apart from such a multiple, begin in different banks.
constexpr int64_t kRowPadding = 8;
/// An H100's multiprocessors; with fewer large blocks, smaller ones occupy more of them.
constexpr int64_t kMultiprocessors = 132;
/// Streamed factors of this size stay in an L2 cache of 50 MB while blocks of several batches read them by turns.
constexpr int64_t kBytesTogether = 16 << 20;
/// wgmma needs swizzled panels to begin at multiples of 8 rows of 128 bytes.
constexpr int64_t kPanelAlignment = 1024;

struct Shape {
  int64_t warps, rowTiles, columns, stages;
};
/// Large tiles first: each factor in shared memory is read once for all rows of a warp, or of all warpgroups. Of 64
/// rows a block reads streamed factors at the rate of the L2 cache (64 heads of 128 features, T = 2048, causal: 1.11 GB
/// in 189 us on an H200), of 128 rows at half of it. Two warpgroups go their own ways with three buffers and more.
constexpr Shape kWarpShapes[] = {{4, 2, 64, 2}, {4, 2, 32, 2}, {4, 1, 64, 2}, {4, 1, 32, 2}, {4, 1, 16, 2}};
constexpr Shape kWarpgroupShapes[] = {{8, 1, 128, 3}, {8, 1, 64, 4}, {8, 1, 64, 3}, {8, 1, 64, 2},
                                      {4, 1, 64, 2},  {4, 1, 32, 2}, {4, 1, 16, 2}};

const StreamTiles::Tile &findTile(ArrayRef<StreamTiles::Tile> tiles, const StreamedProducts::Factor &factor) {
  return *llvm::find_if(tiles, [&](const StreamTiles::Tile &tile) { return tile.factor == factor; });
}

void add(SmallVectorImpl<StreamTiles::Tile> &tiles, const StreamedProducts::Factor &factor) {
  if (llvm::none_of(tiles, [&](const StreamTiles::Tile &tile) { return tile.factor == factor; }))
    tiles.push_back({factor});
}

/// Registers of 16 x 8 elements for each of a warp's 32 threads. One product's weights are needed at a time; overlapped
/// products keep one tile's, and the left factors of scores if `keepsHeld`.
int64_t countRegisters(const StreamedProducts &products, const StreamTiles &tiles) {
  int64_t accumulators = 0, weights = tiles.columns / 4, held = 0;
  for (const StreamedProducts::Result &result : products.results)
    accumulators += llvm::alignTo(result.width, kMmaDepth) / 2;
  for (const StreamTiles::Tile &tile : tiles.held)
    held += tiles.keepsHeld ? tile.getWidth() / 4 : 0;
  auto scores = static_cast<int64_t>(products.scores.size()) * tiles.columns / 2;
  return tiles.rowTiles * (accumulators + weights + scores + held);
}

/// True if the products of a tile can run beside the softmax of the next one: they read other buffers than the scores,
/// and the weights of all are the same registers.
bool canOverlap(const StreamedProducts &products, MatrixUnit unit) {
  Type type;
  for (const StreamedProducts::Result &result : products.results) {
    if (!result.streamed)
      continue;
    Type element = cast<ArrayType>(result.streamed->array.getType()).getElementType();
    if ((type && element != type) || llvm::any_of(products.scores, [&](const StreamedProducts::Score &score) {
          return score.streamed == *result.streamed;
        }))
      return false;
    type = element;
  }
  return unit == MatrixUnit::Warpgroup && products.softmax && type;
}

/// Registers that hold addresses of a thread's copies of a tile: two for that in memory, one for that in shared memory.
/// If the units of a row are a power of two, copies are a constant apart, which is a part of the instruction.
int64_t countAddressRegisters(const StreamTiles::Tile &tile, int64_t threads) {
  int64_t units = tile.getWidth() / kStreamedUnit;
  return llvm::isPowerOf2_64(units) ? 0 : 3 * llvm::divideCeil(tile.rows * units, threads);
}

} // namespace

const StreamTiles::Tile &StreamTiles::findHeld(const StreamedProducts::Factor &factor) const {
  return findTile(held, factor);
}

const StreamTiles::Tile &StreamTiles::findStreamed(const StreamedProducts::Factor &factor) const {
  return findTile(streamed, factor);
}

void StreamTiles::place(Tile &tile, int64_t rows, int64_t buffers) {
  tile.rows = rows;
  tile.pitch = tile.getWidth() + kRowPadding;
  if (unit == MatrixUnit::Warpgroup) {
    tile.pitch = kPanelWidth;
    tile.panels = llvm::divideCeil(tile.factor.width, kPanelWidth);
    sharedBytes = llvm::alignTo(sharedBytes, kPanelAlignment);
  }
  tile.offset = sharedBytes;
  sharedBytes += buffers * tile.getBytes();
}

std::optional<StreamTiles> StreamTiles::choose(const StreamedProducts &products, int64_t sharedLimit, MatrixUnit unit) {
  StreamTiles tiles;
  for (const StreamedProducts::Score &score : products.scores) {
    add(tiles.held, score.held);
    add(tiles.streamed, score.streamed);
  }
  for (Tile &tile : tiles.streamed)
    tile.isOfScores = true;
  for (const StreamedProducts::Result &result : products.results)
    if (result.streamed)
      add(tiles.streamed, *result.streamed);
  int64_t batch = 1;
  for (int64_t size : products.batchShape)
    batch *= size;
  ArrayRef<Shape> shapes = unit == MatrixUnit::Warpgroup ? ArrayRef<Shape>(kWarpgroupShapes) : kWarpShapes;
  for (const Shape &shape : shapes) {
    tiles.unit = unit;
    tiles.warps = shape.warps;
    tiles.rowTiles = shape.rowTiles;
    tiles.columns = shape.columns;
    tiles.rowBlocks = llvm::divideCeil(products.rows, tiles.getBlockRows());
    tiles.gridBlocks = batch * tiles.rowBlocks;
    tiles.stages = shape.stages;
    auto fits = [&] {
      int64_t registers = countRegisters(products, tiles) + kOtherRegisters;
      for (const Tile &tile : tiles.streamed)
        registers += countAddressRegisters(tile, tiles.getBlockThreads());
      return registers <= kMaxRegisters;
    };
    tiles.overlaps = canOverlap(products, unit);
    tiles.keepsHeld = tiles.overlaps || (unit == MatrixUnit::Warpgroup && !products.softmax);
    if (!fits())
      tiles.keepsHeld = false;
    if (!fits())
      tiles.overlaps = false;
    tiles.sharedBytes = 0;
    for (Tile &tile : tiles.held)
      tiles.place(tile, tiles.getBlockRows(), 1);
    for (Tile &tile : tiles.streamed)
      tiles.place(tile, shape.columns, shape.stages);
    tiles.barrierOffset = tiles.sharedBytes;
    if (unit == MatrixUnit::Warpgroup)
      tiles.sharedBytes += tiles.getRingCount() * kBarriersOfStage * kBarrierBytes * tiles.stages;
    tiles.turnsOffset = tiles.sharedBytes;
    if (tiles.takesTurns())
      tiles.sharedBytes += tiles.getGroups() * kBarrierBytes;
    // A thread may have all registers that it can have; their number decides how many blocks are resident.
    tiles.residentBlocks =
        std::max<int64_t>(1, kRegistersOfMultiprocessor / ((kMaxRegisters + 1) * tiles.getBlockThreads()));
    bool isLast = &shape == &shapes.back();
    bool isSmallest = tiles.getBlockRows() == shapes.back().warps * kMmaRows;
    // Columns of a tile beyond 64 make the wait for its scores rarer, which pays where products run meanwhile.
    bool isUseful = unit == MatrixUnit::Warp || tiles.overlaps || shape.columns <= kPanelWidth;
    if (tiles.sharedBytes > sharedLimit || (!isLast && !fits()) || !isUseful ||
        (!isSmallest && tiles.gridBlocks < kMultiprocessors * tiles.residentBlocks))
      continue;
    int64_t batchBytes = 0;
    for (const Tile &tile : tiles.streamed)
      batchBytes += products.columns * tile.factor.width * 2;
    tiles.batchesTogether = std::max<int64_t>(1, kBytesTogether / batchBytes);
    return tiles;
  }
  return std::nullopt;
}

std::string StreamTiles::str() const {
  return "tiles of " + std::to_string(getBlockRows()) + " rows and " + std::to_string(columns) + " columns; " +
         std::to_string(gridBlocks) + " blocks of " + std::to_string(getBlockThreads()) + " threads";
}

} // namespace spmdc
