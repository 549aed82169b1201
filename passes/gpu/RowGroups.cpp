//===- RowGroups.cpp - rows that several threads share --------------------===//
//
// Some lanes of a warp, a warp, a block, or a cluster of blocks compute a row together; shuffles and shared memory
// combine the reductions of its threads.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/GpuKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

void GpuKernel::emitGroupPerRow(Value blockNumber) {
  int64_t extent = rowExtent(), rows = mapping.rowsPerBlock, threads = mapping.threadsPerRow;
  std::tie(warp, warpLane) = code.divRem(thread, kWarpThreads, mapping.blockThreads);
  lane = thread;
  Value row = blockNumber;
  if (rows > 1) {
    auto [rowOfBlock, laneOfRow] = code.divRem(thread, threads, mapping.blockThreads);
    lane = laneOfRow;
    row = code.add(code.mul(blockNumber, rows), rowOfBlock);
  }
  if (mapping.clusterBlocks > 1) {
    std::tie(row, clusterRank) = code.divRem(blockNumber, mapping.clusterBlocks, mapping.gridBlocks);
    lane = code.add(code.mul(clusterRank, mapping.blockThreads), thread);
    // The first exchange waits for it: until then all blocks of the cluster have begun, and their memory exists.
    code.announceToCluster();
    hasArrived = true;
  }
  auto emitRow = [&] {
    rowNumber = row;
    Value last = code.bindOuter(row, schedule.rowVars, schedule.rowShape);
    if (last)
      emitter.bind(schedule.rowVars.back(), last);
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      currentStage = number;
      emitStageOfGroup(stage);
      for (const KernelSchedule::Scan &scan : stage.scans)
        emitScanOfGroup(scan, stage.domain);
    }
  };
  // If the threads of a row are full warps, this condition is uniform in a warp: no barrier or shuffle runs in a part
  // of one. Otherwise threads beyond the last row only take part in these.
  if (extent % rows && threads % kWarpThreads == 0)
    return code.ifThen(code.isLess(row, extent), emitRow);
  if (extent % rows) {
    hasRow = code.isLess(row, extent);
    row = b.create<arith::SelectOp>(loc, hasRow, row, emitter.emitConstant(extent - 1));
  }
  code.inScope(emitRow);
  hasRow = nullptr;
  waitForCluster();
}

void GpuKernel::waitForCluster() {
  if (hasArrived)
    code.waitForCluster();
  hasArrived = false;
}

void GpuKernel::rowBarrier() {
  if (mapping.clusterBlocks == 1)
    return code.rowBarrier(mapping.threadsPerRow);
  waitForCluster();
  code.arriveAtCluster();
  code.waitForCluster();
}

GpuKernel::RoundsOfThread GpuKernel::roundsOf(const GpuMapping::DomainMapping &inner, int64_t groups) {
  int64_t threads = mapping.threadsPerRow;
  if (!continued)
    return {lane, threads, groups / threads};
  Value first = code.add(code.mul(warp, inner.rounds * kWarpThreads), warpLane);
  return {first, kWarpThreads, groups == inner.rounds * threads ? inner.rounds : 0};
}

void GpuKernel::emitStageOfGroup(const KernelSchedule::Stage &stage) {
  const KernelSchedule::Domain &domain = schedule.domains[stage.domain];
  const GpuMapping::DomainMapping &inner = mapping.domains[stage.domain];
  bool hasStageCaches = llvm::any_of(keptValues, [&](const Kept &kept) { return kept.stage == currentStage; });
  if (stage.reductions.empty() && stage.stores.empty() && !hasStageCaches)
    return;
  int64_t groups = domain.getExtent() / inner.vector;
  RoundsOfThread rounds = roundsOf(inner, groups);
  // One thread of the row may write where all threads read before.
  if (domain.getExtent() == 1 && !stage.stores.empty() && currentStage > 0)
    rowBarrier();
  clearAccumulators(stage, inner.vector);
  // Emits `count` rounds from number `round` on; `group` is the first group of the row that this thread takes.
  auto emitRounds = [&](Value group, Value round, int64_t count) {
    emitElements(stage, count * inner.vector, inner.vector, [&](int64_t e) -> Value {
      int64_t v = e % inner.vector;
      Value here = code.add(group, emitter.emitConstant(e / inner.vector * rounds.stride));
      Value number = code.add(round, emitter.emitConstant(e / inner.vector)), neighbourNumber = emitter.emitConstant(v);
      if (Value last = code.bindOuter(code.mul(here, inner.vector), domain.vars, domain.shape))
        emitter.bind(domain.vars.back(), v ? code.add(last, neighbourNumber) : last);
      if (mapping.hasSharedCaches)
        sharedSlot =
            code.add(code.mul(code.add(code.mul(number, mapping.blockThreads), thread), inner.vector), neighbourNumber);
      return code.add(code.mul(number, inner.vector), neighbourNumber);
    });
  };
  auto emitRound = [&](Value group, Value round) { emitRounds(group, round, 1); };
  auto emitUnrolled = [&] {
    for (int64_t round = 0; round < inner.rounds; ++round) {
      Value group = code.add(rounds.first, emitter.emitConstant(round * rounds.stride));
      Value number = emitter.emitConstant(round);
      auto emitHere = [&] { emitRound(group, number); };
      if (round >= rounds.full)
        code.ifThen(code.isLess(group, groups), emitHere);
      else
        code.inScope(emitHere);
    }
  };
  auto emitLoops = [&] {
    auto groupOf = [&](Value round) { return code.add(code.mul(round, rounds.stride), rounds.first); };
    int64_t batched = inner.batch > 1 ? rounds.full / inner.batch * inner.batch : 0;
    if (batched)
      code.loop(emitter.emitConstant(0), emitter.emitConstant(batched), emitter.emitConstant(inner.batch),
                [&](Value round) { emitRounds(groupOf(round), round, inner.batch); });
    if (batched < inner.rounds)
      code.loop(emitter.emitConstant(batched), emitter.emitConstant(inner.rounds), emitter.emitConstant(1),
                [&](Value round) {
                  Value group = groupOf(round);
                  auto emitHere = [&] { emitRound(group, round); };
                  if (rounds.full < inner.rounds)
                    code.ifThen(code.isLess(group, groups), emitHere);
                  else
                    code.inScope(emitHere);
                });
  };
  whereRow([&] { inner.isUnrolled ? emitUnrolled() : emitLoops(); });
  reduceOverGroup(stage, inner.vector);
}

/// Combines the sums of the threads of a row: adjacent elements, then the warp (or its lanes for the row), then the
/// warps. Each lane takes the sum of one warp, repeatedly if there are fewer warps than lanes, and a butterfly adds
/// them up: one value is live for each reduction, for any number of warps.
void GpuKernel::reduceOverGroup(const KernelSchedule::Stage &stage, int64_t vector) {
  int64_t warps = mapping.threadsPerRow / mapping.clusterBlocks / kWarpThreads;
  SmallVector<Value> values, shared;
  for (const KernelSchedule::Reduction &reduction : stage.reductions) {
    ReduceOp op = reduction.op;
    Type type = op.getType().getElementType();
    SmallVector<Value> sums;
    for (int64_t v = 0; v < vector; ++v)
      sums.push_back(code.load(accumulators.lookup(op), accumulatorTypeOf(op), emitter.emitConstant(v)));
    for (size_t count = sums.size(); count > 1; count /= 2)
      for (size_t i = 0; i < count / 2; ++i)
        sums[i] = combineElements(b, loc, type, op.getKind(), sums[i], sums[i + count / 2], false);
    values.push_back(
        code.reduceWarp(type, op.getKind(), sums[0], std::min<int64_t>(mapping.threadsPerRow, kWarpThreads)));
  }
  if (warps > 1 && !values.empty()) {
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      shared.push_back(code.allocateShared(accumulatorTypeOf(reduction.op), warps));
    Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, warpLane, emitter.emitConstant(0));
    code.ifThen(isFirst, [&] {
      for (auto [reduction, memory, value] : llvm::zip(stage.reductions, shared, values))
        code.store(memory, accumulatorTypeOf(reduction.op), warp, value);
    });
    code.barrier();
    Value place = code.divRem(warpLane, warps, kWarpThreads).second;
    for (auto [reduction, memory, value] : llvm::zip(stage.reductions, shared, values)) {
      ReduceOp op = reduction.op;
      Type type = op.getType().getElementType();
      value = code.reduceWarp(type, op.getKind(), code.load(memory, accumulatorTypeOf(op), place), warps);
    }
  }
  reduceOverCluster(stage, values);
  for (auto [reduction, value] : llvm::zip(stage.reductions, values))
    rowValues[reduction.op] = {{value, emitter.getDepth()}};
}

/// Each block writes its sums to the shared memory of all blocks of the cluster, so that after one barrier every warp
/// adds up the blocks from its own memory, and no block reads another one's memory, which would have to wait at its
/// end.
void GpuKernel::reduceOverCluster(const KernelSchedule::Stage &stage, MutableArrayRef<Value> values) {
  int64_t blocks = mapping.clusterBlocks;
  if (blocks == 1 || values.empty())
    return;
  SmallVector<Value> shared;
  for (const KernelSchedule::Reduction &reduction : stage.reductions)
    shared.push_back(code.allocateShared(accumulatorTypeOf(reduction.op), blocks));
  waitForCluster();
  code.ifThen(code.isLess(thread, blocks), [&] {
    for (auto [reduction, memory, value] : llvm::zip(stage.reductions, shared, values))
      code.store(code.addressInBlock(memory, thread), accumulatorTypeOf(reduction.op), clusterRank, value);
  });
  code.arriveAtCluster();
  code.waitForCluster();
  Value place = code.divRem(warpLane, blocks, kWarpThreads).second;
  for (auto [reduction, memory, value] : llvm::zip(stage.reductions, shared, values)) {
    ReduceOp op = reduction.op;
    value = code.reduceWarp(op.getType().getElementType(), op.getKind(),
                            code.load(memory, accumulatorTypeOf(op), place), blocks);
  }
}

/// A scan in rounds, with some adjacent elements for each thread: in sequence within a thread, by shuffles within a
/// warp, through shared memory over warps. A carry brings the total of the rounds before. Full rounds are computed
/// several at a time: their elements are loaded together, and the totals of their warps have one barrier. The order of
/// additions is that of one round after the other.
void GpuKernel::emitScanOfGroup(const KernelSchedule::Scan &scan, unsigned domainNumber) {
  if (const ContinuedScan *found = continued ? continued->find(scan.op) : nullptr)
    return code.inScope([&] { emitContinuedScan(scan, domainNumber, *found); });
  const GpuMapping::DomainMapping &inner = mapping.domains[domainNumber];
  int64_t groups = schedule.domains[domainNumber].getExtent() / inner.vector, threads = mapping.threadsPerRow;
  int64_t batch = inner.scanRounds, batched = groups / threads / batch * batch;
  clear(scan.op, 1);
  auto loop = [&](int64_t from, int64_t to, int64_t step, bool isBounded) {
    auto emitRounds = [&](Value round) { emitScanRounds(scan, domainNumber, round, step, isBounded); };
    if (to - from == step)
      code.inScope([&] { emitRounds(emitter.emitConstant(from)); });
    else if (from < to)
      code.loop(emitter.emitConstant(from), emitter.emitConstant(to), emitter.emitConstant(step), emitRounds);
  };
  loop(0, batched, batch, /*isBounded=*/false);
  loop(batched, groups / threads, 1, /*isBounded=*/false);
  loop(groups / threads, inner.rounds, 1, /*isBounded=*/true);
}

void GpuKernel::emitScanRounds(const KernelSchedule::Scan &scan, unsigned domainNumber, Value firstRound, int64_t count,
                               bool isBounded) {
  CumulativeOp op = scan.op;
  Type type = op.getType().getElementType(), wide = accumulatorTypeOf(op);
  const KernelSchedule::Domain &domain = schedule.domains[domainNumber];
  int64_t vector = mapping.domains[domainNumber].vector, groups = domain.getExtent() / vector;
  int64_t threads = mapping.threadsPerRow, warps = threads / kWarpThreads;
  // The first slot holds the carry, the next ones the elements: values computed under a condition.
  Value memory = accumulators.lookup(op), zero = emitter.emitConstant(0);
  Value totals = warps > 1 ? code.allocateShared(wide, count * warps) : Value();
  auto combine = [&](Value x, Value y) {
    return combineElements(b, loc, type, op.getKind(), x, y, /*mayReorder=*/false);
  };
  auto select = [&](Value condition, Value x, Value y) -> Value {
    return b.create<arith::SelectOp>(loc, condition, x, y);
  };
  auto groupOf = [&](Value round) { return code.add(code.mul(round, threads), lane); };
  auto bind = [&](int64_t e) -> Value {
    Value round = code.add(firstRound, emitter.emitConstant(e / vector)), number = emitter.emitConstant(e % vector);
    if (Value last = code.bindOuter(code.mul(groupOf(round), vector), domain.vars, domain.shape))
      emitter.bind(domain.vars.back(), code.add(last, number));
    if (mapping.hasSharedCaches)
      sharedSlot = code.add(code.mul(code.add(code.mul(round, mapping.blockThreads), thread), vector), number);
    return code.add(code.mul(round, vector), number);
  };
  Value isInside = isBounded ? code.isLess(groupOf(firstRound), groups) : Value();
  auto whereInside = [&](llvm::function_ref<void()> emit) {
    if (isInside)
      code.ifThen(isInside, emit);
    else
      emit();
  };
  if (isInside)
    for (int64_t v = 0; v < vector; ++v)
      code.store(memory, wide, emitter.emitConstant(1 + v), emitIdentity(b, loc, op));
  whereInside([&] {
    loadAhead(count * vector, bind);
    for (int64_t e = 0; e < count * vector; ++e)
      code.inScope([&] {
        ahead = &aheadOfElements[e];
        beginElement(bind(e));
        code.store(memory, wide, emitter.emitConstant(1 + e), emitter.emit(op.getOperand(), scan.operandIndex));
        ahead = nullptr;
      });
  });
  SmallVector<Value> sums, ofWarp;
  for (int64_t e = 0; e < count * vector; ++e) {
    Value element = code.load(memory, wide, emitter.emitConstant(1 + e));
    sums.push_back(e % vector ? combine(sums.back(), element) : element);
  }
  for (int64_t round = 0; round < count; ++round) {
    Value sum = sums[(round + 1) * vector - 1];
    for (int64_t offset = 1; offset < kWarpThreads; offset *= 2) {
      Value left = code.shuffle(sum, gpu::ShuffleMode::UP, offset);
      sum = select(code.isLess(warpLane, offset), sum, combine(left, sum));
    }
    ofWarp.push_back(sum);
  }
  if (warps > 1) {
    code.ifThen(isEqual(warpLane, emitter.emitConstant(kWarpThreads - 1)), [&] {
      for (int64_t round = 0; round < count; ++round)
        code.store(totals, wide, code.add(warp, emitter.emitConstant(round * warps)), ofWarp[round]);
    });
    code.barrier();
  }
  Value after = code.load(memory, wide, zero);
  for (int64_t round = 0; round < count; ++round) {
    Value before = after, sum = ofWarp[round];
    if (warps > 1)
      for (int64_t w = 0; w < warps; ++w) {
        before = select(isEqual(warp, emitter.emitConstant(w)), after, before);
        after = combine(after, code.load(totals, wide, emitter.emitConstant(round * warps + w)));
      }
    else
      after = combine(before, code.shuffle(sum, gpu::ShuffleMode::IDX, kWarpThreads - 1));
    // The sum of all elements before this thread's first one.
    Value left = code.shuffle(sum, gpu::ShuffleMode::UP, 1);
    before = select(isEqual(warpLane, zero), before, combine(before, left));
    for (int64_t v = 0; v < vector; ++v)
      sums[round * vector + v] = combine(before, sums[round * vector + v]);
  }
  // The next rounds write their totals there.
  if (warps > 1)
    code.barrier();
  else if (domain.getExtent() == 1)
    rowBarrier(); // All threads of the row may have read its only element where one of them writes the result.
  code.store(memory, wide, zero, after);
  whereInside([&] {
    for (int64_t e = 0; e < count * vector; ++e)
      code.inScope([&] {
        beginElement(bind(e));
        storeScan(scan, sums[e]);
      });
  });
}

} // namespace spmdc
