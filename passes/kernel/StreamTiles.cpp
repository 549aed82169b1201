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
/// mask, code for tiles that it keeps in part and entirely takes registers, so that blocks of one warpgroup are faster;
/// their products overlap with the softmax. Microseconds on an H200 (64 heads of 128 features, T = 2048; in brackets 16
/// heads, T = 8192), by warps of a block:
///
///                                     mask         no mask
///   4, one product after the other    202 (670)    323
///   4, overlapped                     189 (603)    301
///   8, one product after the other    237          284
///   8, overlapped                     229 (714)    338
constexpr Shape kWarpShapes[] = {{4, 2, 64}, {4, 2, 32}, {4, 1, 64}, {4, 1, 32}, {4, 1, 16}};
constexpr Shape kWarpgroupShapes[] = {{8, 1, 64}, {4, 1, 64}, {4, 1, 32}, {4, 1, 16}};

const StreamTiles::Tile &findTile(ArrayRef<StreamTiles::Tile> tiles, const StreamedProducts::Factor &factor) {
  return *llvm::find_if(tiles, [&](const StreamTiles::Tile &tile) { return tile.factor == factor; });
}

void add(SmallVectorImpl<StreamTiles::Tile> &tiles, const StreamedProducts::Factor &factor) {
  if (llvm::none_of(tiles, [&](const StreamTiles::Tile &tile) { return tile.factor == factor; }))
    tiles.push_back({factor});
}

/// Registers of 16 x 8 elements for each of a warp's 32 threads. Overlapped products keep one tile's weights, and the
/// left factors of scores.
int64_t countRegisters(const StreamedProducts &products, const StreamTiles &tiles) {
  int64_t accumulators = 0, weights = tiles.overlaps ? tiles.columns / 4 : 0, held = 0;
  for (const StreamedProducts::Result &result : products.results) {
    accumulators += llvm::alignTo(result.width, kMmaDepth) / 2;
    weights += result.streamed && !tiles.overlaps ? tiles.columns / 4 : 0;
  }
  for (const StreamTiles::Tile &tile : tiles.held)
    held += tiles.overlaps ? tile.getWidth() / 4 : 0;
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
    auto countAll = [&] {
      int64_t registers = countRegisters(products, tiles) + kOtherRegisters;
      for (const Tile &tile : tiles.streamed)
        registers += countAddressRegisters(tile, tiles.getBlockThreads());
      return registers;
    };
    tiles.overlaps = canOverlap(products, unit) && shape.warps == kWarpgroupWarps;
    tiles.overlaps = tiles.overlaps && countAll() <= kMaxRegisters;
    int64_t registers = countAll();
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
