//===- StreamedCopies.cpp - the buffers of a streamed kernel --------------===//
//
// Tiles of rows that a block holds, and of columns that it streams, as they are in shared memory. Warps wait for all
// copies of the block; warpgroups have rings of buffers (CopyRing.h), and copy some tiles ahead.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/StreamedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {
namespace {

constexpr unsigned kGlobalSpace = 1;

} // namespace

Value StreamedKernel::bufferOf(const StreamTiles::Tile &streamed, Value tile) {
  Value start = code.getLaunchShared(streamed.offset);
  Value stage = code.divRem(getUse(tile), tiles.stages, INT32_MAX).second;
  return b.create<LLVM::GEPOp>(loc, start.getType(), b.getI8Type(), start,
                               ArrayRef<LLVM::GEPArg>{code.mul(stage, streamed.getBytes())}, /*inbounds=*/true);
}

/// The position of a unit of 16 bytes among the elements of a tile.
Value StreamedKernel::positionOf(const StreamTiles::Tile &tile, Value row, Value unit) {
  if (tiles.unit == MatrixUnit::Warp)
    return code.add(code.mul(row, tile.pitch), code.mul(unit, kStreamedUnit));
  int64_t units = kPanelWidth / kStreamedUnit, all = tile.panels * units;
  auto [panel, unitInPanel] = code.divRem(unit, units, all);
  Value swizzled = b.create<arith::XOrIOp>(loc, unitInPanel, code.divRem(row, 8, tile.rows).second);
  Value position = code.add(code.mul(row, tile.pitch), code.mul(swizzled, kStreamedUnit));
  return code.add(position, code.mul(panel, tile.rows * tile.pitch));
}

void StreamedKernel::copyStreamed(ArrayRef<const StreamTiles::Tile *> factors, Value tile) {
  auto copyAll = [&](std::optional<int64_t> limit) {
    for (const StreamTiles::Tile *streamed : factors)
      copy(*streamed, bufferOf(*streamed, tile), products.columnVar, code.mul(tile, tiles.columns), limit);
  };
  if (!hasTail())
    return copyAll(std::nullopt);
  // All tiles but the last one need no comparison of positions.
  Value behindWhole = emitter.emitConstant(countWholeTiles());
  code.ifThen(code.isLess(tile, behindWhole), [&] { copyAll(std::nullopt); });
  Value isLast = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, tile, behindWhole);
  code.ifThen(isLast, [&] { copyAll(products.columns); });
}

void StreamedKernel::copy(const StreamTiles::Tile &tile, Value memory, const IndexExpr &variable, Value firstRow,
                          std::optional<int64_t> limit) {
  int64_t units = tile.getWidth() / kStreamedUnit, total = tile.rows * units;
  int64_t threads = tiles.getBlockThreads();
  auto *context = b.getContext();
  auto globalPointer = LLVM::LLVMPointerType::get(context, kGlobalSpace);
  Type element = b.getI16Type();
  auto copyUnit = [&](Value number) {
    auto [row, unit] = code.divRem(number, units, total);
    Value feature = code.mul(unit, kStreamedUnit), here = code.add(firstRow, row);
    Value isInside;
    auto require = [&](Value position, int64_t bound) {
      Value holds = code.isLess(position, bound);
      isInside = isInside ? b.create<arith::AndIOp>(loc, isInside, holds).getResult() : holds;
    };
    if (limit)
      require(here, *limit);
    if (tile.getWidth() != tile.factor.width)
      require(feature, tile.factor.width);
    Value bytes;
    Value source = here, column = feature;
    if (isInside) {
      // Nothing is read behind the array: such units are zero.
      Value zero = emitter.emitConstant(0);
      bytes = b.create<arith::SelectOp>(loc, isInside, b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(16)),
                                        b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(0)));
      source = b.create<arith::SelectOp>(loc, isInside, here, zero);
      column = b.create<arith::SelectOp>(loc, isInside, feature, zero);
    }
    emitter.bind(variable, source);
    emitter.bind(products.featureVars.at(tile.factor.width), column);
    Value position = emitter.emitIndex(tile.factor.position);
    Value array = b.create<LLVM::AddrSpaceCastOp>(loc, globalPointer, pointers.lookup(tile.factor.array));
    Value from = b.create<LLVM::GEPOp>(loc, globalPointer, element, array, ArrayRef<LLVM::GEPArg>{position},
                                       /*inbounds=*/true);
    Value target = b.create<LLVM::GEPOp>(loc, memory.getType(), element, memory,
                                         ArrayRef<LLVM::GEPArg>{positionOf(tile, row, unit)}, /*inbounds=*/true);
    cores->startCopy(target, from, bytes);
  };
  for (int64_t first = 0; first < total; first += threads) {
    Value number = code.add(thread, emitter.emitConstant(first));
    if (first + threads <= total)
      code.inScope([&] { copyUnit(number); });
    else
      code.ifThen(code.isLess(number, total), [&] { copyUnit(number); });
  }
}

//===----------------------------------------------------------------------===//
// Buffers that are filled while others are read
//===----------------------------------------------------------------------===//

void StreamedKernel::arrive() {
  cores->finishCopies();
  code.barrier();
}

void StreamedKernel::startRings() {
  int64_t offset = tiles.barrierOffset;
  for (int64_t number = 0; number < tiles.getRingCount(); ++number) {
    bool isOfScores = number == 0;
    Stream &stream =
        streams.emplace_back(Stream{CopyRing(b, loc, emitter, code, offset, tiles.stages), {}, tiles.getAhead(number)});
    for (const StreamTiles::Tile &tile : tiles.streamed)
      if (!tiles.overlaps || tile.isOfScores == isOfScores)
        stream.tiles.push_back(&tile);
    offset += CopyRing::getBarrierBytes(tiles.stages);
  }
  Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, thread, emitter.emitConstant(0));
  code.ifThen(isFirst, [&] {
    for (Stream &stream : streams)
      stream.ring.initialize(tiles.getBlockThreads(), tiles.warps);
    if (turns)
      turns->initialize();
  });
  code.barrier();
  // Without a tile to compute, the first one's copies begin nevertheless.
  Value one = emitter.emitConstant(1);
  keptTiles.end = b.create<arith::MaxSIOp>(loc, keptTiles.end, code.add(keptTiles.begin, one));
  for (int64_t use = 0; use < streams.front().ahead; ++use)
    for (Stream &stream : streams)
      if (use < stream.ahead)
        fill(stream, code.add(keptTiles.begin, emitter.emitConstant(use)));
}

Value StreamedKernel::getUse(Value tile) { return b.create<arith::SubIOp>(loc, tile, keptTiles.begin); }

void StreamedKernel::fillAhead(Stream &stream, Value tile) {
  fill(stream, code.add(tile, emitter.emitConstant(stream.ahead)));
}

void StreamedKernel::fill(Stream &stream, Value tile) {
  code.ifThen(code.isLess(tile, keptTiles.end), [&] {
    Value use = getUse(tile);
    stream.ring.waitForFree(use);
    copyStreamed(stream.tiles, tile);
    stream.ring.announceCopies(use);
  });
}

void StreamedKernel::waitForCopies(Stream &stream, Value tile, Stream *other, Value otherTile) {
  stream.ring.waitForCopies(getUse(tile));
  if (other)
    other->ring.waitForCopies(getUse(otherTile));
  warpgroups.publishCopies();
}

void StreamedKernel::release(Stream &stream, Value tile) { stream.ring.releaseIf(isFirstLane, getUse(tile)); }

} // namespace spmdc
