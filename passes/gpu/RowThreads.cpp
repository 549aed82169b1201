//===- RowThreads.cpp - rows that one thread computes ---------------------===//
//
// Element-wise work, reductions that a thread walks alone, and the squares of transposes.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/GpuKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

void GpuKernel::emitFlat(Value blockNumber) {
  int64_t extent = rowExtent(), vector = mapping.vector;
  Value group = code.add(code.mul(blockNumber, mapping.blockThreads), thread);
  code.ifThen(code.isLess(group, extent / vector), [&] {
    Value last = code.bindOuter(code.mul(group, vector), schedule.rowVars, schedule.rowShape);
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      currentStage = number;
      emitElements(stage, vector, [&](int64_t v) -> Value {
        if (last)
          emitter.bind(schedule.rowVars.back(), v ? code.add(last, emitter.emitConstant(v)) : last);
        return emitter.emitConstant(0);
      });
    }
  });
}

void GpuKernel::overDomain(const KernelSchedule::Domain &domain, size_t dim, llvm::function_ref<void()> emitBody) {
  if (dim == domain.shape.size())
    return emitBody();
  code.loop(emitter.emitConstant(0), emitter.emitConstant(domain.shape[dim]), emitter.emitConstant(1),
            [&](Value position) {
              emitter.bind(domain.vars[dim], position);
              overDomain(domain, dim + 1, emitBody);
            });
}

void GpuKernel::emitThreadPerRow(Value blockNumber) {
  Value row = code.add(code.mul(blockNumber, mapping.blockThreads), thread);
  code.ifThen(code.isLess(row, rowExtent()), [&] {
    Value last = code.bindOuter(row, schedule.rowVars, schedule.rowShape);
    if (last)
      emitter.bind(schedule.rowVars.back(), last);
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      currentStage = number;
      const KernelSchedule::Domain &domain = schedule.domains[stage.domain];
      clearAccumulators(stage, 1);
      overDomain(domain, 0, [&, &stage = stage] {
        auto bind = [&](int64_t) {
          return emitter.emitIndex(schedule.indexing->space.linearize(domain.vars, domain.shape));
        };
        emitElements(stage, 1, bind, stage.scans);
      });
      for (const KernelSchedule::Reduction &reduction : stage.reductions)
        rowValues[reduction.op] = {
            code.load(accumulators.lookup(reduction.op), accumulatorTypeOf(reduction.op), emitter.emitConstant(0)),
            emitter.getDepth()};
    }
  });
}

void GpuKernel::emitTiles(Value blockNumber) {
  size_t tiled = schedule.tiledRow, rank = schedule.rowShape.size();
  int64_t rows = schedule.rowShape[tiled], columns = schedule.rowShape.back();
  SmallVector<int64_t> grid(schedule.rowShape);
  grid[tiled] = (rows + kTileSide - 1) / kTileSide;
  grid[rank - 1] = (columns + kTileSide - 1) / kTileSide;
  int64_t limit = mapping.gridBlocks;
  Value rest = blockNumber, firstRow, firstColumn;
  for (size_t d = rank; d-- > 0;) {
    Value here = rest;
    if (d > 0) {
      std::tie(rest, here) = code.divRem(rest, grid[d], limit);
      limit /= grid[d];
    }
    if (d == tiled)
      firstRow = code.mul(here, kTileSide);
    else if (d + 1 == rank)
      firstColumn = code.mul(here, kTileSide);
    else
      emitter.bind(schedule.rowVars[d], here);
  }
  auto [threadRow, threadColumn] = code.divRem(thread, kTileSide, mapping.blockThreads);
  // A thread's elements of a square: across along one side, `along` steps on the other.
  auto overSquare = [&](bool isCrosswise, llvm::function_ref<void(Value)> emitBody) {
    for (int64_t step = 0; step < kTileSide; step += kTileThreadRows) {
      Value along = code.add(threadRow, emitter.emitConstant(step));
      Value inRow = isCrosswise ? threadColumn : along, inColumn = isCrosswise ? along : threadColumn;
      Value row = code.add(firstRow, inRow), column = code.add(firstColumn, inColumn);
      Value isInside = b.create<arith::AndIOp>(loc, code.isLess(row, rows), code.isLess(column, columns));
      code.ifThen(isInside, [&] {
        emitter.bind(schedule.rowVars[tiled], row);
        emitter.bind(schedule.rowVars.back(), column);
        emitBody(code.add(code.mul(inColumn, kTilePitch), inRow));
      });
    }
  };
  overSquare(/*isCrosswise=*/true, [&](Value position) {
    beginElement(position);
    for (const Kept &kept : keptValues)
      code.store(kept.memory, elementTypeOf(kept.value), position, emitter.emit(kept.value, kept.index));
  });
  code.barrier();
  readsTiles = true;
  overSquare(/*isCrosswise=*/false, [&](Value position) {
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      currentStage = number;
      emitElements(stage, 1, [&](int64_t) { return position; });
    }
  });
}

} // namespace spmdc
