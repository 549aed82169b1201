//===- RowThreads.cpp - rows that one thread computes ---------------------===//
//
// Element-wise work, reductions by a single thread, and the squares of transposes.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/GpuKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

/// Sums of strips that a thread reads together: enough to overlap the reads, and few registers.
static constexpr int64_t kStripsAtOnce = 4;

void GpuKernel::emitFlat(Value blockNumber) {
  int64_t extent = rowExtent(), vector = mapping.vector;
  Value group = code.add(code.mul(blockNumber, mapping.blockThreads), thread);
  code.ifThen(code.isLess(group, extent / vector), [&] {
    Value last = code.bindOuter(code.mul(group, vector), schedule.rowVars, schedule.rowShape);
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      currentStage = number;
      emitElements(stage, vector, vector, [&](int64_t v) -> Value {
        if (last)
          emitter.bind(schedule.rowVars.back(), v ? code.add(last, emitter.emitConstant(v)) : last);
        return emitter.emitConstant(0);
      });
    }
  });
}

void GpuKernel::emitThreadPerRow(Value blockNumber) {
  int64_t groups = rowExtent() / mapping.vector, lanes = mapping.blockThreads / mapping.strips;
  auto [strip, laneInBlock] = code.divRem(thread, lanes, mapping.blockThreads);
  lane = laneInBlock;
  Value group = code.add(code.mul(blockNumber, lanes), lane);
  auto emitRows = [&, strip = strip] {
    Value firstRow = code.bindOuter(code.mul(group, mapping.vector), schedule.rowVars, schedule.rowShape);
    // Values that depend on a single row are computed once.
    if (firstRow && mapping.vector == 1) {
      emitter.bind(schedule.rowVars.back(), firstRow);
      firstRow = nullptr;
    }
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      currentStage = number;
      emitStageOfThread(stage, firstRow, strip);
    }
  };
  if (mapping.strips == 1)
    return code.ifThen(code.isLess(group, groups), emitRows);
  // All threads of a block must reach its barriers, which is all that threads beyond the last row do.
  if (groups % lanes) {
    hasRow = code.isLess(group, groups);
    group = b.create<arith::SelectOp>(loc, hasRow, group, emitter.emitConstant(groups - 1));
  }
  code.inScope(emitRows);
  hasRow = nullptr;
}

void GpuKernel::emitStageOfThread(const KernelSchedule::Stage &stage, Value firstRow, Value strip) {
  const KernelSchedule::Domain &domain = schedule.domains[stage.domain];
  int64_t vector = mapping.vector, strips = mapping.strips, extent = domain.getExtent();
  int64_t batch = std::min(mapping.batch, extent / strips);
  // One strip's result for a row may overwrite memory that all strips have read, unless a barrier came in between.
  if (strips > 1 && extent == 1 && !stage.stores.empty() && currentStage > 0 &&
      schedule.stages[currentStage - 1].reductions.empty())
    code.barrier();
  clearAccumulators(stage, vector);
  // Emits `rounds` rounds from number `first` on; in each, a strip takes one element of the domain.
  auto emitRounds = [&](Value first, int64_t rounds) {
    emitElements(
        stage, rounds * vector, vector,
        [&](int64_t e) -> Value {
          Value round = code.add(first, emitter.emitConstant(e / vector));
          Value position = strips == 1 ? round : code.add(code.mul(round, strips), strip);
          if (Value last = code.bindOuter(position, domain.vars, domain.shape))
            emitter.bind(domain.vars.back(), last);
          if (firstRow)
            emitter.bind(schedule.rowVars.back(), code.add(firstRow, emitter.emitConstant(e % vector)));
          return code.add(code.mul(round, vector), emitter.emitConstant(e % vector));
        },
        stage.scans);
  };
  int64_t rounds = (extent + strips - 1) / strips, batched = batch > 1 ? extent / strips / batch * batch : 0;
  auto emitRest = [&](Value round) {
    auto emitHere = [&] { emitRounds(round, 1); };
    if (extent % strips)
      code.ifThen(code.isLess(code.add(code.mul(round, strips), strip), extent), emitHere);
    else
      code.inScope(emitHere);
  };
  whereRow([&] {
    if (batched == batch)
      code.inScope([&] { emitRounds(emitter.emitConstant(0), batch); });
    else if (batched)
      code.loop(emitter.emitConstant(0), emitter.emitConstant(batched), emitter.emitConstant(batch),
                [&](Value round) { emitRounds(round, batch); });
    if (rounds - batched == 1)
      code.inScope([&] { emitRest(emitter.emitConstant(batched)); });
    else if (rounds > batched)
      code.loop(emitter.emitConstant(batched), emitter.emitConstant(rounds), emitter.emitConstant(1), emitRest);
  });
  reduceOverStrips(stage, strip);
}

/// Each thread adds up the strips of one (or some) of its rows, and all threads read the sums: one value is live for
/// each reduction, for any number of strips.
void GpuKernel::reduceOverStrips(const KernelSchedule::Stage &stage, Value strip) {
  int64_t vector = mapping.vector, strips = mapping.strips, lanes = mapping.blockThreads / strips;
  auto own = [&](ReduceOp op, int64_t v) {
    return code.load(accumulators.lookup(op), accumulatorTypeOf(op), emitter.emitConstant(v));
  };
  SmallVector<Value> shared;
  if (strips > 1 && !stage.reductions.empty()) {
    // The order in memory: lanes, then adjacent rows, then strips.
    auto place = [&](Value ofStrip, Value ofRow) {
      return code.add(code.add(code.mul(ofStrip, vector * lanes), code.mul(ofRow, lanes)), lane);
    };
    for (const KernelSchedule::Reduction &reduction : stage.reductions) {
      shared.push_back(code.allocateShared(accumulatorTypeOf(reduction.op), mapping.blockThreads * vector));
      for (int64_t v = 0; v < vector; ++v)
        code.store(shared.back(), accumulatorTypeOf(reduction.op), place(strip, emitter.emitConstant(v)),
                   own(reduction.op, v));
    }
    code.barrier();
    auto addUp = [&](Value ofRow) {
      for (auto [reduction, memory] : llvm::zip(stage.reductions, shared)) {
        ReduceOp op = reduction.op;
        Type type = op.getType().getElementType(), wide = accumulatorTypeOf(op);
        auto combine = [&](Value x, Value y) {
          return combineElements(b, loc, type, op.getKind(), x, y, /*mayReorder=*/false);
        };
        Value sum;
        // Adds pairs of pairs, and these in sequence.
        for (int64_t s = 0; s < strips; s += kStripsAtOnce) {
          SmallVector<Value> values;
          for (int64_t i = s; i < std::min(strips, s + kStripsAtOnce); ++i)
            values.push_back(code.load(memory, wide, place(emitter.emitConstant(i), ofRow)));
          for (; values.size() > 1; values.resize(values.size() / 2))
            for (size_t i = 0; i < values.size() / 2; ++i)
              values[i] = combine(values[i], values[i + values.size() / 2]);
          sum = sum ? combine(sum, values[0]) : values[0];
        }
        code.store(memory, wide, place(emitter.emitConstant(0), ofRow), sum);
      }
    };
    if (vector < strips)
      code.ifThen(code.isLess(strip, vector), [&] { addUp(strip); });
    else
      for (int64_t v = 0; v < vector; v += strips)
        code.inScope([&] { addUp(code.add(strip, emitter.emitConstant(v))); });
    code.barrier();
  }
  for (auto [number, reduction] : llvm::enumerate(stage.reductions)) {
    ReduceOp op = reduction.op;
    SmallVector<Emitted, 1> values;
    for (int64_t v = 0; v < vector; ++v) {
      Value position = code.add(emitter.emitConstant(v * lanes), lane);
      values.push_back(
          {strips == 1 ? own(op, v) : code.load(shared[number], accumulatorTypeOf(op), position), emitter.getDepth()});
    }
    rowValues[op] = std::move(values);
  }
}

void GpuKernel::emitTiles(Value blockNumber) {
  size_t tiled = schedule.tiledRow, rank = schedule.rowShape.size();
  int64_t rows = schedule.rowShape[tiled], columns = schedule.rowShape.back();
  int64_t side = mapping.tileSide, vector = mapping.tileVector, pitch = tilePitch();
  SmallVector<int64_t> grid(schedule.rowShape);
  grid[tiled] = llvm::divideCeil(rows, side);
  grid[rank - 1] = llvm::divideCeil(columns, side);
  int64_t limit = mapping.gridBlocks;
  Value rest = blockNumber, firstRow, firstColumn;
  for (size_t d = rank; d-- > 0;) {
    Value here = rest;
    if (d > 0) {
      std::tie(rest, here) = code.divRem(rest, grid[d], limit);
      limit /= grid[d];
    }
    if (d == tiled)
      firstRow = code.mul(here, side);
    else if (d + 1 == rank)
      firstColumn = code.mul(here, side);
    else
      emitter.bind(schedule.rowVars[d], here);
  }
  auto [threadRow, threadColumn] = code.divRem(thread, kTileThreads, mapping.blockThreads);
  // If all squares are full, no test is needed, and a thread issues its loads together.
  bool isFull = rows % side == 0 && columns % side == 0;
  // A thread's elements of a square: `vector` adjacent ones along one side, steps along the other.
  auto overSquare = [&](bool isCrosswise, auto emitBody) {
    for (int64_t step = 0; step < side; step += kTileThreadRows) {
      Value along = code.add(threadRow, emitter.emitConstant(step)), across = code.mul(threadColumn, vector);
      Value inRow = isCrosswise ? across : along, inColumn = isCrosswise ? along : across;
      Value row = code.add(firstRow, inRow), column = code.add(firstColumn, inColumn);
      auto emitHere = [&] {
        emitBody([&](int64_t v) -> Value {
          Value number = emitter.emitConstant(v);
          emitter.bind(schedule.rowVars[tiled], isCrosswise ? code.add(row, number) : row);
          emitter.bind(schedule.rowVars.back(), isCrosswise ? column : code.add(column, number));
          return code.add(code.mul(isCrosswise ? inColumn : code.add(inColumn, number), pitch),
                          isCrosswise ? code.add(inRow, number) : inRow);
        });
      };
      if (isFull)
        code.inScope(emitHere);
      else
        code.ifThen(b.create<arith::AndIOp>(loc, code.isLess(row, rows), code.isLess(column, columns)), emitHere);
    }
  };
  overSquare(/*isCrosswise=*/true, [&](auto bind) {
    std::vector<SmallVector<Value>> loaded(vector);
    for (int64_t v = 0; v < vector; ++v)
      code.inScope([&] {
        beginElement(bind(v));
        for (const Kept &kept : keptValues)
          loaded[v].push_back(emitter.emit(kept.value, kept.index));
      });
    for (int64_t v = 0; v < vector; ++v)
      code.inScope([&] {
        Value position = bind(v);
        for (auto [kept, value] : llvm::zip(keptValues, loaded[v]))
          code.store(kept.memory, elementTypeOf(kept.value), position, value);
      });
  });
  code.barrier();
  readsTiles = true;
  overSquare(/*isCrosswise=*/false, [&](auto bind) {
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      currentStage = number;
      emitElements(stage, vector, vector, bind);
    }
  });
}

} // namespace spmdc
