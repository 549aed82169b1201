//===- StreamedKernel.cpp - the code of a streamed kernel -----------------===//

#include "passes/gpu/StreamedKernel.h"

#include "passes/gpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {
namespace {

KernelSchedule withIndexing(const StreamedProducts &products) {
  KernelSchedule schedule;
  schedule.indexing = products.indexing;
  return schedule;
}

} // namespace

StreamedKernel::StreamedKernel(plan::KernelOp kernel, StreamedProducts found, StreamTiles chosen,
                               gpu::GPUModuleOp target)
    : kernel(kernel), products(std::move(found)), tiles(std::move(chosen)), target(target), loc(kernel.getLoc()),
      b(kernel.getContext()), body(KernelBody::of(kernel)), schedule(withIndexing(products)),
      emitter(b, loc, body, schedule,
              {[this](Value input) { return pointers.lookup(input); }, [](ReduceOp) -> Emitted { return {}; },
               [this](Value value, ArrayRef<IndexExpr> index) { return readElement(value, index); },
               [this](OpBuilder &builder, unsigned axis) { return loadCoordinate(builder, loc, coordinates, axis); },
               nullptr, Bf16Rounding::InMemoryAlone}),
      code(b, loc, emitter, target, kernel.getSymName().str()), warpgroups(b, loc), mask(PositionMask::find(products)) {
}

void StreamedKernel::emit() {
  Block &block = kernel.getBlock();
  unsigned inputs = block.getNumArguments(), buffers = inputs + body.outputs.size();
  gpu::GPUFuncOp function = addKernelFunction(b, kernel, target, tiles.getBlockThreads(), tiles.residentBlocks);
  SmallVector<bool> isReadOnly(buffers + 1, true);
  std::fill(isReadOnly.begin() + inputs, isReadOnly.begin() + buffers, false);
  function->setAttr(kNoAliasAttrName, b.getDenseBoolArrayAttr(SmallVector<bool>(buffers + 1, true)));
  function->setAttr(kReadOnlyAttrName, b.getDenseBoolArrayAttr(isReadOnly));
  Block *entry = &function.getBody().front();
  for (BlockArgument input : block.getArguments())
    pointers[input] = entry->getArgument(input.getArgNumber());
  for (size_t i = 0; i < body.outputs.size(); ++i)
    outputs.push_back(entry->getArgument(inputs + i));
  coordinates = entry->getArgument(buffers);
  Type f32Type = b.getF32Type();
  for (const StreamedProducts::Result &result : products.results)
    accumulators.push_back(code.allocateLocal(f32Type, getSumCount(result)));
  if (products.softmax) {
    maxima = code.allocateLocal(f32Type, getThreadRows());
    sums = code.allocateLocal(f32Type, getThreadRows());
  }
  if (tiles.overlaps)
    keptWeights = code.allocateLocal(b.getI32Type(), tiles.columns / 4);
  if (mask)
    laneTiles = code.allocateLocal(b.getI64Type(), 5);
  thread = code.getThread(tiles.getBlockThreads());
  Value blockNumber = code.getBlock(tiles.gridBlocks);
  emitter.pushScope(entry);
  emitBlock(blockNumber);
  b.create<gpu::ReturnOp>(loc);
}

void StreamedKernel::emitBlock(Value blockNumber) {
  auto [warp, lane] = code.divRem(thread, kWarpThreads, tiles.getBlockThreads());
  if (tiles.unit == MatrixUnit::Warpgroup)
    warp = code.readFirstLane(warp); // Descriptors of products have to be the same in all lanes.
  auto [laneRow, lanePair] = code.divRem(lane, 4, kWarpThreads);
  cores.emplace(b, loc, lane);
  warpRow = groupRow = code.mul(warp, tiles.getWarpRows());
  Value group;
  if (tiles.unit == MatrixUnit::Warpgroup) {
    group = code.divRem(warp, kWarpgroupWarps, tiles.warps).first;
    groupRow = code.mul(group, tiles.getGroupRows());
  }
  pairColumn = code.mul(lanePair, 2);
  isFirstLane = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, lane, emitter.emitConstant(0));
  if (tiles.takesTurns())
    turns.emplace(b, loc, emitter, code, tiles.turnsOffset, tiles.getGroups(), group, isFirstLane);
  auto [batch, rowBlock] = placeBlock(blockNumber);
  if (Value last = code.bindOuter(batch, products.batchVars, products.batchShape))
    emitter.bind(products.batchVars.back(), last);
  Value firstRow = code.mul(rowBlock, tiles.getBlockRows());
  for (int64_t number = 0; number < getThreadRows(); ++number)
    threadRows.push_back(code.add(code.add(code.add(firstRow, warpRow), laneRow), emitter.emitConstant(8 * number)));

  for (const StreamTiles::Tile &tile : tiles.held)
    copy(tile, code.getLaunchShared(tile.offset), products.rowVar, firstRow,
         products.rows % tile.rows ? std::optional(products.rows) : std::nullopt);
  Value zero = emitter.emitConstant(0);
  int64_t count = llvm::divideCeil(products.columns, tiles.columns);
  keptTiles = {zero, emitter.emitConstant(count)};
  if (mask)
    findTiles(lane, firstRow);
  for (auto [number, result] : llvm::enumerate(products.results)) {
    bool isMax = !result.streamed && cast<ReduceOp>(result.op).getKind() == ReductionKind::max;
    for (int64_t i = 0; i < getSumCount(result); ++i)
      set(accumulators[number], i, f32(isMax ? -std::numeric_limits<double>::infinity() : 0));
  }
  if (products.softmax)
    for (int64_t i = 0; i < getThreadRows(); ++i) {
      set(maxima, i, f32(-std::numeric_limits<double>::infinity()));
      set(sums, i, f32(0));
    }
  if (tiles.unit == MatrixUnit::Warpgroup) {
    if (!products.softmax) {
      orderScores();
      findEarlyValues();
    }
    startRings();
  }
  if (tiles.overlaps) {
    emitOverlapped();
    return storeResults();
  }
  if (tiles.unit == MatrixUnit::Warp)
    copyStreamed(listStreamed(), keptTiles.begin);
  if (tiles.keepsHeld) {
    waitForCopies(streams.front(), keptTiles.begin);
    loadHeld();
  }
  // Without a kept tile, warpgroups compute the one whose copies have begun (startRings).
  emitLoops(keptTiles.begin, [&](Value begin, Value end) { emitTiles(begin, end); });
  if (mask && tiles.unit == MatrixUnit::Warp) // Without a kept tile, nothing has waited for the first one's copies.
    cores->finishCopies();
  storeResults();
}

void StreamedKernel::emitLoops(Value first, llvm::function_ref<void(Value, Value)> emitLoop) {
  // Separate loops: branches around products in one loop would move accumulators between registers.
  Value done = first;
  auto emit = [&](Value end, bool keepsAll, bool areWhole) {
    isKept = keepsAll;
    isWhole = areWhole;
    emitLoop(done, end);
    done = b.create<arith::MaxSIOp>(loc, done, end);
  };
  auto emitRest = [&](bool keepsAll) {
    Value behindWhole = emitter.emitConstant(countWholeTiles());
    emit(hasTail() ? b.create<arith::MinSIOp>(loc, keptTiles.end, behindWhole).getResult() : keptTiles.end, keepsAll,
         /*areWhole=*/true);
    if (hasTail())
      emit(keptTiles.end, keepsAll, /*areWhole=*/false);
  };
  if (mask) {
    emit(fullTiles.begin, /*keepsAll=*/false, /*areWhole=*/true);
    emit(fullTiles.end, /*keepsAll=*/true, /*areWhole=*/true);
  }
  emitRest(/*keepsAll=*/!mask);
}

std::pair<Value, Value> StreamedKernel::placeBlock(Value number) {
  int64_t batches = tiles.gridBlocks / tiles.rowBlocks, together = std::min(tiles.batchesTogether, batches);
  if (!mask)
    return code.divRem(number, tiles.rowBlocks, tiles.gridBlocks);
  // All long blocks of a group begin before its short ones, which end at about the same time.
  auto [group, rest] = code.divRem(number, together * tiles.rowBlocks, tiles.gridBlocks);
  Value first = code.mul(group, together), count = emitter.emitConstant(together);
  if (batches % together != 0) // The last group has fewer.
    count = b.create<arith::MinSIOp>(loc, count, b.create<arith::SubIOp>(loc, emitter.emitConstant(batches), first));
  Value rowBlock = b.create<arith::DivUIOp>(loc, rest, count);
  Value batch = code.add(first, b.create<arith::RemUIOp>(loc, rest, count));
  // With a causal mask the last rows have the most columns. LLVM computes both conditions.
  Value zero = emitter.emitConstant(0), last = emitter.emitConstant(tiles.rowBlocks - 1);
  Value lastTile = emitter.emitConstant(llvm::divideCeil(products.columns, tiles.columns) - 1);
  Value isFirstLong = boundMask(zero, tiles.getBlockRows(), lastTile).high;
  Value isLastLong = boundMask(code.mul(last, tiles.getBlockRows()), tiles.getBlockRows(), zero).high;
  Value isReversed = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, isFirstLong, isLastLong);
  Value fromLast = b.create<arith::SubIOp>(loc, last, rowBlock);
  return {batch, b.create<arith::SelectOp>(loc, isReversed, fromLast, rowBlock)};
}

void StreamedKernel::emitTiles(Value begin, Value end) {
  Value one = emitter.emitConstant(1);
  code.loop(begin, end, one, [&](Value tile) {
    if (tiles.unit == MatrixUnit::Warpgroup) {
      Stream &all = streams.front();
      waitForCopies(all, tile);
      fillAhead(all, tile);
      emitTile(tile);
      return release(all, tile);
    }
    arrive();
    Value next = code.add(tile, one);
    code.ifThen(code.isLess(next, keptTiles.end), [&] { copyStreamed(listStreamed(), next); });
    emitTile(tile);
  });
}

PositionBounds::Bounds StreamedKernel::boundMask(Value firstRow, int64_t rows, Value tile) {
  // A warp behind the last row has none; its bounds are of no use, and do no harm.
  auto last = [&](Value first, int64_t count, int64_t size) -> Value {
    Value end = code.add(first, emitter.emitConstant(count - 1));
    return size % count ? b.create<arith::MinSIOp>(loc, end, emitter.emitConstant(size - 1)).getResult() : end;
  };
  Value firstColumn = code.mul(tile, tiles.columns);
  PositionBounds bounds(b, loc, products, {firstRow, last(firstRow, rows, products.rows)},
                        {firstColumn, last(firstColumn, tiles.columns, products.columns)});
  return bounds.emit(*mask);
}

void StreamedKernel::findTiles(Value lane, Value firstRow) {
  int64_t count = llvm::divideCeil(products.columns, tiles.columns);
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Value zero = emitter.emitConstant(0), all = emitter.emitConstant(count);
  // Beginnings and ends of both ranges, and the number of full tiles: the same in all lanes.
  enum { KeptBegin, KeptEnd, FullBegin, FullEnd, FullCount };
  auto load = [&](int64_t number) { return code.load(laneTiles, i64, emitter.emitConstant(number)); };
  auto store = [&](int64_t number, Value value) { code.store(laneTiles, i64, emitter.emitConstant(number), value); };
  for (int64_t number : {KeptBegin, FullBegin})
    store(number, all);
  for (int64_t number : {KeptEnd, FullEnd, FullCount})
    store(number, zero);
  // Each lane tests one of 32 tiles.
  code.loop(zero, all, emitter.emitConstant(kWarpThreads), [&](Value first) {
    Value tile = code.add(first, lane), isTile = code.isLess(tile, count);
    PositionBounds::Bounds bounds = boundMask(firstRow, tiles.getBlockRows(), tile);
    auto extend = [&](int64_t begin, Value condition) {
      Value lanes = cores->ballot(b.create<arith::AndIOp>(loc, condition, isTile));
      auto wide = [&](Value number) -> Value { return b.create<arith::ExtUIOp>(loc, i64, number); };
      Value isNone = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, lanes,
                                             b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(0)));
      Value lowest =
          code.add(first, wide(b.create<LLVM::CountTrailingZerosOp>(loc, i32, lanes, /*is_zero_poison=*/false)));
      Value behind =
          b.create<arith::SubIOp>(loc, code.add(first, emitter.emitConstant(kWarpThreads)),
                                  wide(b.create<LLVM::CountLeadingZerosOp>(loc, i32, lanes, /*is_zero_poison=*/false)));
      Value newBegin = b.create<arith::MinSIOp>(loc, load(begin), lowest);
      store(begin, b.create<arith::SelectOp>(loc, isNone, load(begin), newBegin));
      store(begin + 1, b.create<arith::SelectOp>(loc, isNone, load(begin + 1), behind));
      if (begin == FullBegin)
        store(FullCount, code.add(load(FullCount), wide(b.create<LLVM::CtPopOp>(loc, i32, lanes))));
    };
    extend(KeptBegin, bounds.high);
    extend(FullBegin, bounds.low);
  });
  keptTiles = {load(KeptBegin), load(KeptEnd)};
  fullTiles = {load(FullBegin), load(FullEnd)};
  Value isRange = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, load(FullCount),
                                          b.create<arith::SubIOp>(loc, fullTiles.end, fullTiles.begin));
  // Other full tiles are computed with the mask, too: the range is empty at the end of the kept ones.
  fullTiles.begin = b.create<arith::SelectOp>(loc, isRange, fullTiles.begin, keptTiles.end);
  fullTiles.end = b.create<arith::SelectOp>(loc, isRange, fullTiles.end, keptTiles.end);
  if (hasTail())
    for (Value *position : {&fullTiles.begin, &fullTiles.end})
      *position = b.create<arith::MinSIOp>(loc, *position, emitter.emitConstant(countWholeTiles()));
  // With no tile at all, the copy that begins before the loops still is one of the array.
  keptTiles.begin = b.create<arith::MinSIOp>(loc, keptTiles.begin, emitter.emitConstant(count - 1));
  for (Value *position : {&keptTiles.begin, &keptTiles.end, &fullTiles.begin, &fullTiles.end})
    *position = code.readFirstLane(*position);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

Value StreamedKernel::get(Value memory, int64_t position) {
  return code.load(memory, b.getF32Type(), emitter.emitConstant(position));
}

void StreamedKernel::set(Value memory, int64_t position, Value value) {
  code.store(memory, b.getF32Type(), emitter.emitConstant(position), value);
}

StreamedKernel::Elements StreamedKernel::getAll(Value memory, int64_t count) {
  Elements values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(get(memory, i));
  return values;
}

void StreamedKernel::setAll(Value memory, const Elements &values) {
  for (auto [i, value] : llvm::enumerate(values))
    set(memory, static_cast<int64_t>(i), value);
}

int64_t StreamedKernel::getSumCount(const StreamedProducts::Result &result) const {
  return result.streamed ? tiles.rowTiles * llvm::alignTo(result.width, kMmaDepth) / 2 : getThreadRows();
}

Value StreamedKernel::f32(double value) {
  return b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(static_cast<float>(value)));
}

Value StreamedKernel::reduceOverLanes(ReductionKind kind, Value value) {
  return code.reduceWarp(b.getF32Type(), kind, value, /*lanes=*/4);
}

} // namespace spmdc
