//===- StreamTiles.cpp - the tiles of a streamed kernel -------------------===//

#include "passes/kernel/StreamTiles.h"

#include "passes/kernel/PositionMask.h"

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
/// Blocks below which smaller tiles occupy more multiprocessors: two for each of an H100's.
constexpr int64_t kManyBlocks = 264;
/// wgmma needs swizzled panels to begin at multiples of 8 rows of 128 bytes.
constexpr int64_t kPanelAlignment = 1024;

struct Shape {
  int64_t warps, rowTiles, columns;
};
/// Large tiles first: each factor in shared memory is read once for all rows of a warp, or of all warpgroups. With a
/// mask, code for tiles that it keeps in part and entirely takes registers, so that a multiprocessor has room for three
/// blocks of one warpgroup, but for one of two: these took 237 and 206 us (T = 2048, 64 heads of 128 features, an
/// H200); without a mask 284 and 320 us.
constexpr Shape kWarpShapes[] = {{4, 2, 64}, {4, 2, 32}, {4, 1, 64}, {4, 1, 32}, {4, 1, 16}};
constexpr Shape kWarpgroupShapes[] = {{8, 1, 64}, {4, 1, 64}, {4, 1, 32}, {4, 1, 16}};

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
  for (const StreamedProducts::Result &result : products.results)
    if (result.streamed)
      add(tiles.streamed, *result.streamed);
  int64_t batch = 1;
  for (int64_t size : products.batchShape)
    batch *= size;
  ArrayRef<Shape> shapes = unit == MatrixUnit::Warpgroup ? ArrayRef<Shape>(kWarpgroupShapes) : kWarpShapes;
  bool hasMask = PositionMask::find(products).has_value();
  for (const Shape &shape : shapes) {
    tiles.unit = unit;
    tiles.warps = shape.warps;
    tiles.rowTiles = shape.rowTiles;
    tiles.columns = shape.columns;
    tiles.rowBlocks = llvm::divideCeil(products.rows, tiles.getBlockRows());
    tiles.gridBlocks = batch * tiles.rowBlocks;
    tiles.sharedBytes = 0;
    for (Tile &tile : tiles.held)
      tiles.place(tile, tiles.getBlockRows(), 1);
    for (Tile &tile : tiles.streamed)
      tiles.place(tile, shape.columns, 2);
    int64_t registers = countRegisters(products, shape.rowTiles, shape.columns) + kOtherRegisters;
    for (const Tile &tile : tiles.streamed)
      registers += countAddressRegisters(tile, tiles.getBlockThreads());
    bool isLast = &shape == &shapes.back();
    bool isSmallest = tiles.getBlockRows() == shapes.back().warps * kMmaRows;
    if (tiles.sharedBytes > sharedLimit || (!isLast && registers > kMaxRegisters) ||
        (!isSmallest && tiles.gridBlocks < kManyBlocks) || (hasMask && shape.warps > kWarpgroupWarps))
      continue;
    // A thread may have all registers that it can have; their number decides how many blocks are resident.
    tiles.residentBlocks =
        std::max<int64_t>(1, kRegistersOfMultiprocessor / ((kMaxRegisters + 1) * tiles.getBlockThreads()));
    return tiles;
  }
  return std::nullopt;
}

std::string StreamTiles::str() const {
  return "tiles of " + std::to_string(getBlockRows()) + " rows and " + std::to_string(columns) + " columns; " +
         std::to_string(gridBlocks) + " blocks of " + std::to_string(getBlockThreads()) + " threads";
}

} // namespace spmdc
