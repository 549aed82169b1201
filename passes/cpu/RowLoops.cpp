//===- RowLoops.cpp - the loops around the elements of a kernel -----------===//
//
// Reductions are loop-carried values whose additions may be reordered: the vectoriser turns them into a fixed tree, the
// same for every row and every split of the range.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/CpuKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace spmdc {

/// The f32 elements of a vector with masks. LLVM computes the elements behind the last full one in a vector of half as
/// many, and the rest one by one: 28 elements of softmax took 76 ns, and take 33 in two vectors with masks. Up to
/// kMaxSingleElements the masks cost as much as they save, and so they do in long rows.
static constexpr int64_t kMaskedVector = 16, kMaxSingleElements = 2, kMaxMasked = 256;

bool CpuKernel::isFasterMasked(int64_t extent) const {
  return units.hasMasks && extent > kMaskedVector && extent < kMaxMasked &&
         extent % (kMaskedVector / 2) > kMaxSingleElements;
}

void CpuKernel::emitStageOfRow(const KernelSchedule::Stage &stage) {
  SmallVector<Value> carried;
  for (const KernelSchedule::Reduction &reduction : stage.reductions)
    carried.push_back(emitIdentity(b, loc, reduction.op));
  for (const KernelSchedule::Scan &scan : stage.scans)
    carried.push_back(emitIdentity(b, loc, scan.op));
  SmallVector<Loop> nest = loops.openDomain(schedule.domains[stage.domain], carried, /*isParallel=*/true);
  if (!nest.empty() && stage.scans.empty())
    nest.back().isMasked = isFasterMasked(schedule.domains[stage.domain].shape.back());
  loopDepth = emitter.getDepth();
  emitStores(stage);
  size_t next = 0;
  for (const KernelSchedule::Reduction &reduction : stage.reductions) {
    carried[next] = step(reduction.op, carried[next], reduction.operandIndex, /*mayReorder=*/true);
    ++next;
  }
  for (const KernelSchedule::Scan &scan : stage.scans) {
    carried[next] = step(scan.op, carried[next], scan.operandIndex, /*mayReorder=*/false);
    storeScan(scan, carried[next++]);
  }
  loops.closeDomain(nest, carried);
  for (auto [reduction, value] : llvm::zip(stage.reductions, carried))
    rowValues[reduction.op] = {value, emitter.getDepth()};
}

void CpuKernel::emitRowsOneByOne() {
  Loop rows = loops.open(begin, end, 1);
  rows.isPlain = true;
  loops.bindRow(rows.iv, schedule.rowVars, schedule.rowShape);
  for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
    currentStage = number;
    emitStageOfRow(stage);
  }
  loops.close(rows);
}

/// Lanes::Tiles: the columns of a square, which fill a vector.
static constexpr int64_t kSquareColumns = 16;

/// More segments cost more code than they save time.
static constexpr size_t kMaxBorders = 32;

void CpuKernel::emitLanes(const IndexExpr &laneVar, Value low, Value high) {
  currentStage = 0;
  if (laneVar.isConstant())
    return emitLanesWith({}, laneVar, low, high);
  int64_t extent = schedule.rowShape.back();
  auto getReads = [&](int64_t first, int64_t last) {
    LaneReads reads(*schedule.indexing, body, laneVar.terms[0].first, first, last);
    for (const KernelSchedule::Store &store : schedule.stages[0].stores)
      reads.add(body.outputs[store.output], store.index);
    return reads;
  };
  LaneReads reads = getReads(0, extent);
  if (reads.getBorders().empty() || reads.getBorders().size() > kMaxBorders)
    return emitSegment(reads, laneVar, low, high);
  SmallVector<int64_t> ends(reads.getBorders());
  ends.push_back(extent);
  int64_t first = 0;
  for (int64_t last : ends) {
    Value from = b.create<arith::MaxSIOp>(loc, low, emitter.emitConstant(first));
    Value to = b.create<arith::MinSIOp>(loc, high, emitter.emitConstant(last));
    // A range may end before the segment begins.
    emitSegment(getReads(first, last), laneVar, from, b.create<arith::MaxSIOp>(loc, from, to));
    first = last;
  }
}

void CpuKernel::emitLanesWith(std::vector<IndexAssumption> assumed, const IndexExpr &laneVar, Value low, Value high) {
  auto overLanes = [&](Value first, Value count, Value base) {
    Loop lanes = loops.open(first, count, 1, {}, /*isParallel=*/true);
    int64_t extent = schedule.rowShape.empty() ? 1 : schedule.rowShape.back(); // A scalar is one row of no dimensions.
    lanes.isMasked = units.hasMasks && (isRare || isFasterMasked(extent));
    loopDepth = emitter.getDepth();
    if (!assumed.empty())
      emitter.assume(std::move(assumed));
    streamPosition = rowInBlock ? b.create<arith::AddIOp>(loc, rowInBlock, lanes.iv).getResult() : lanes.iv;
    Value position = base ? b.create<arith::AddIOp>(loc, base, lanes.iv, arith::IntegerOverflowFlags::nsw) : lanes.iv;
    emitter.bind(laneVar, position);
    emitStores(schedule.stages[0]);
    loops.close(lanes);
  };
  if (streams.empty() || rowInBlock)
    return overLanes(low, high, {});
  Value zero = emitter.emitConstant(0);
  Loop blocks = loops.open(low, high, kStreamElements);
  blocks.isPlain = true;
  Value rest = b.create<arith::SubIOp>(loc, high, blocks.iv);
  Value count = b.create<arith::MinSIOp>(loc, rest, emitter.emitConstant(kStreamElements));
  overLanes(zero, count, blocks.iv);
  emitter.bind(laneVar, blocks.iv);
  for (const KernelSchedule::Store &store : schedule.stages[0].stores)
    streamBlock(store, zero, count);
  loops.close(blocks);
}

void CpuKernel::emitSegment(const LaneReads &reads, const IndexExpr &laneVar, Value low, Value high) {
  std::vector<IndexAssumption> known(reads.getKnown().begin(), reads.getKnown().end());
  if (reads.getInterior().empty())
    return emitLanesWith(known, laneVar, low, high);
  auto [from, to] = emitInterior(reads.getInterior(), laneVar.terms[0].first, low, high);
  std::vector<IndexAssumption> all = known;
  llvm::append_range(all, reads.getInterior());
  emitLanesWith(std::move(all), laneVar, from, to);
  // The remaining lanes on both sides of the interior.
  Value zero = emitter.emitConstant(0);
  Loop sides = loops.open(zero, emitter.emitConstant(2), 1);
  sides.isPlain = true;
  Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, sides.iv, zero);
  bool isWithinRow = llvm::any_of(reads.getInterior(), [&](const IndexAssumption &assumption) {
    return assumption.guard.expr.coefficientOf(laneVar.terms[0].first) != 0;
  });
  llvm::SaveAndRestore<bool> areRare(isRare, isRare || isWithinRow); // Else they are some of all rows.
  emitLanesWith(known, laneVar, b.create<arith::SelectOp>(loc, isFirst, low, to),
                b.create<arith::SelectOp>(loc, isFirst, from, high));
  loops.close(sides);
}

std::pair<Value, Value> CpuKernel::emitInterior(ArrayRef<IndexAssumption> interior, unsigned lane, Value low,
                                                Value high) {
  Value from = low, to = high, isThere;
  auto both = [&](Value x, Value y) { return x ? b.create<arith::AndIOp>(loc, x, y).getResult() : y; };
  for (const auto &[guard, holds] : interior) {
    int64_t factor = guard.expr.coefficientOf(lane);
    if (factor == 0) {
      Value answer = emitter.emitGuard(guard);
      if (!holds)
        answer = b.create<arith::XOrIOp>(loc, answer, b.create<arith::ConstantOp>(loc, b.getBoolAttr(true)));
      isThere = both(isThere, answer);
      continue;
    }
    IndexExpr rest = guard.expr;
    llvm::erase_if(rest.terms, [&](auto &term) { return term.first == lane; });
    // low <= rest + lane < high, or low <= rest - lane < high.
    Value others = emitter.emitIndex(rest);
    auto beside = [&](int64_t bound) -> Value {
      Value constant = emitter.emitConstant(bound);
      return factor > 0 ? b.create<arith::SubIOp>(loc, constant, others)
                        : b.create<arith::SubIOp>(loc, others, constant);
    };
    from = b.create<arith::MaxSIOp>(loc, from, beside(factor > 0 ? guard.low : guard.high - 1));
    to = b.create<arith::MinSIOp>(loc, to, beside(factor > 0 ? guard.high : guard.low - 1));
  }
  from = b.create<arith::MinSIOp>(loc, from, high);
  if (isThere)
    from = b.create<arith::SelectOp>(loc, isThere, from, high);
  return {from, b.create<arith::MaxSIOp>(loc, from, to)};
}

bool CpuKernel::isOneLoop() const {
  return schedule.stages.size() == 1 && schedule.stages[0].reductions.empty() && schedule.stages[0].scans.empty() &&
         schedule.domains[schedule.stages[0].domain].shape.empty();
}

void CpuKernel::emitRowsSideBySide() {
  // The lanes are the last row dimension; the outer loops run over the others.
  ArrayRef<int64_t> shape = schedule.rowShape;
  int64_t laneExtent = shape.empty() ? 1 : shape.back(),
          outerExtent = schedule.getExtent() / std::max<int64_t>(laneExtent, 1);
  IndexExpr laneVar = shape.empty() ? IndexExpr(0) : schedule.rowVars.back();
  auto segment = [&](Value low, Value high) {
    if (isOneLoop())
      return emitLanes(laneVar, low, high);
    if (isUnrolled())
      return emitUnrolledRows(laneVar, low, high);
    Loop blocks = loops.open(low, high, rowBlock);
    blocks.isPlain = true;
    Value rest = b.create<arith::SubIOp>(loc, high, blocks.iv);
    Value count = b.create<arith::MinSIOp>(loc, rest, emitter.emitConstant(rowBlock));
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      currentStage = number;
      emitStageOfBlock(stage, laneVar, blocks.iv, count);
    }
    loops.close(blocks);
  };
  if (outerExtent <= 1) {
    segment(begin, end);
    return;
  }
  Value lanes = emitter.emitConstant(laneExtent), zero = emitter.emitConstant(0), one = emitter.emitConstant(1);
  Value beforeEnd = b.create<arith::SubIOp>(loc, lanes, one);
  auto firstFrom = [&](Value position) -> Value { // The first row that begins at the position or behind it.
    return b.create<arith::DivUIOp>(loc, b.create<arith::AddIOp>(loc, position, beforeEnd), lanes);
  };
  Value blockBegin, blockEnd; // The lanes of a block, if rows are computed block by block.
  // Iterations [from, to) of the range, in these rows; `isPart` if they may begin or end within a row.
  auto overRows = [&](Value first, Value last, Value from, Value to, bool isPart) {
    Loop outer = loops.open(first, last, 1);
    outer.isPlain = true;
    loops.bindRow(outer.iv, ArrayRef<IndexExpr>(schedule.rowVars).drop_back(), shape.drop_back());
    Value start = b.create<arith::MulIOp>(loc, outer.iv, lanes), low = zero, high = lanes;
    if (isPart) {
      low = b.create<arith::MaxSIOp>(loc, b.create<arith::SubIOp>(loc, from, start), zero);
      high = b.create<arith::MinSIOp>(loc, b.create<arith::SubIOp>(loc, to, start), lanes);
    }
    if (blockBegin) {
      low = b.create<arith::MaxSIOp>(loc, low, blockBegin);
      high = b.create<arith::MinSIOp>(loc, high, blockEnd);
    }
    if (streamsRowsTogether())
      rowInBlock = b.create<arith::SubIOp>(loc, start, from);
    segment(low, high);
    loops.close(outer);
  };
  if (!streamsRowsTogether()) {
    Value first = b.create<arith::DivUIOp>(loc, begin, lanes), last = firstFrom(end);
    int64_t block = streams.empty() ? chooseLaneBlock() : laneExtent;
    if (block == laneExtent)
      return overRows(first, last, begin, end, /*isPart=*/true);
    Loop blocks = loops.open(zero, lanes, block);
    blocks.isPlain = true;
    blockBegin = blocks.iv;
    blockEnd = b.create<arith::AddIOp>(loc, blocks.iv, emitter.emitConstant(block));
    overRows(first, last, begin, end, /*isPart=*/true);
    loops.close(blocks);
    return;
  }
  emitBlocksOfRows([&](Value from, Value to) {
    // Loops over all of a row have a constant number of iterations, which is most of what a short one gains by.
    Value firstFull = firstFrom(from);
    Value behindFull = b.create<arith::MaxSIOp>(loc, firstFull, b.create<arith::DivUIOp>(loc, to, lanes));
    overRows(firstFull, behindFull, from, to, /*isPart=*/false);
    Loop sides = loops.open(zero, emitter.emitConstant(2), 1);
    sides.isPlain = true;
    Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, sides.iv, zero);
    Value first = b.create<arith::SelectOp>(loc, isFirst, b.create<arith::DivUIOp>(loc, from, lanes), behindFull);
    Value last = b.create<arith::SelectOp>(loc, isFirst, firstFull, firstFrom(to));
    llvm::SaveAndRestore<bool> areRare(isRare, true);
    overRows(first, last, from, to, /*isPart=*/true);
    loops.close(sides);
  });
}

void CpuKernel::emitTiles() {
  // One iteration is a strip of the tiled row dimension, processed in blocks of columns.
  size_t tiled = schedule.tiledRow, rank = schedule.rowShape.size();
  SmallVector<int64_t> shape(schedule.rowShape.begin(), schedule.rowShape.end() - 1);
  int64_t rows = shape[tiled], columns = schedule.rowShape.back(), tileRows = schedule.getTileRows();
  shape[tiled] = (rows + tileRows - 1) / tileRows;
  Loop strips = loops.open(begin, end, 1);
  strips.isPlain = true;
  Value strip;
  Value rest = strips.iv;
  for (size_t d = rank - 1; d-- > 0;) {
    Value size = emitter.emitConstant(shape[d]);
    Value position = d ? b.create<arith::RemUIOp>(loc, rest, size).getResult() : rest;
    if (d)
      rest = b.create<arith::DivUIOp>(loc, rest, size);
    if (d == tiled)
      strip = position;
    else
      emitter.bind(schedule.rowVars[d], position);
  }
  Value side = emitter.emitConstant(tileRows), width = emitter.emitConstant(kTileColumns);
  Value firstRow = b.create<arith::MulIOp>(loc, strip, side);
  Value lastRow =
      b.create<arith::MinSIOp>(loc, b.create<arith::AddIOp>(loc, firstRow, side), emitter.emitConstant(rows));
  Loop blocks = loops.open(emitter.emitConstant(0), emitter.emitConstant(columns), kTileColumns);
  blocks.isPlain = true;
  Value lastColumn =
      b.create<arith::MinSIOp>(loc, b.create<arith::AddIOp>(loc, blocks.iv, width), emitter.emitConstant(columns));
  auto overRows = [&](llvm::function_ref<void(Value inBlock)> emitRow) {
    Loop rowLoop = loops.open(firstRow, lastRow, 1);
    rowLoop.isPlain = true;
    emitter.bind(schedule.rowVars[tiled], rowLoop.iv);
    emitRow(b.create<arith::MulIOp>(loc, b.create<arith::SubIOp>(loc, rowLoop.iv, firstRow), width));
    loops.close(rowLoop);
  };
  // A square reads few enough lines of each input that they stay in the first-level cache until all rows have used
  // them.
  Loop squares = loops.open(blocks.iv, lastColumn, kSquareColumns);
  squares.isPlain = true;
  Value lastOfSquare = b.create<arith::MinSIOp>(
      loc, b.create<arith::AddIOp>(loc, squares.iv, emitter.emitConstant(kSquareColumns)), lastColumn);
  overRows([&](Value inBlock) {
    Loop columnLoop = loops.open(squares.iv, lastOfSquare, 1, {}, /*isParallel=*/true);
    loopDepth = emitter.getDepth();
    emitter.bind(schedule.rowVars.back(), columnLoop.iv);
    if (!streams.empty())
      streamPosition = b.create<arith::AddIOp>(loc, inBlock, b.create<arith::SubIOp>(loc, columnLoop.iv, blocks.iv));
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      currentStage = number;
      emitStores(stage);
    }
    loops.close(columnLoop);
  });
  loops.close(squares);
  if (!streams.empty())
    overRows([&](Value inBlock) {
      emitter.bind(schedule.rowVars.back(), blocks.iv);
      for (const KernelSchedule::Store &store : schedule.stages[0].stores)
        streamBlock(store, inBlock, b.create<arith::SubIOp>(loc, lastColumn, blocks.iv));
    });
  loops.close(blocks);
  loops.close(strips);
}

} // namespace spmdc
