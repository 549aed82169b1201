//===- LaneReductions.cpp - reductions of adjacent rows in vectors --------===//
//
// Each lane of a vector is a row. Its accumulators are values if its iterations are few. Else memory in the first-level
// cache holds them, for a block of rows; several iterations are computed between reading and writing an accumulator.
// The additions of a row have one order.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/CpuKernel.h"
#include "passes/kernel/OpCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

/// The iterations of a row, over all stages, that are emitted one by one. More of them cost code, and gain less: what
/// is saved is an accumulator's way through memory.
static constexpr int64_t kMaxUnrolled = 17;

bool CpuKernel::isUnrolled() const {
  int64_t iterations = 0;
  for (const KernelSchedule::Stage &stage : schedule.stages) {
    if (!stage.scans.empty() || !stage.stageCaches.empty())
      return false;
    iterations += schedule.domains[stage.domain].getExtent();
  }
  return schedule.lanes == Lanes::Rows && !isOneLoop() && iterations <= kMaxUnrolled;
}

void CpuKernel::emitIteration(llvm::function_ref<void()> bindVariables, llvm::function_ref<void()> emitBody) {
  Region *region = emitter.getBlock()->getParent();
  Block *inside = b.createBlock(region, region->end()), *behind = b.createBlock(region, region->end());
  b.setInsertionPointToEnd(emitter.getBlock());
  b.create<LLVM::BrOp>(loc, ValueRange(), inside);
  emitter.pushScope(inside);
  loopDepth = emitter.getDepth();
  bindVariables();
  emitBody();
  emitter.moveTo(emitter.getDepth());
  b.create<LLVM::BrOp>(loc, ValueRange(), behind);
  emitter.popScope(behind);
}

void CpuKernel::emitUnrolledStage(const KernelSchedule::Stage &stage) {
  SmallVector<Value> sums;
  for (const KernelSchedule::Reduction &reduction : stage.reductions)
    sums.push_back(emitIdentity(b, loc, reduction.op));
  const KernelSchedule::Domain &domain = schedule.domains[stage.domain];
  for (int64_t iteration = 0, extent = domain.getExtent(); iteration < extent; ++iteration) {
    auto bindVariables = [&] {
      int64_t rest = iteration;
      for (size_t d = domain.shape.size(); d-- > 0; rest /= domain.shape[d])
        emitter.bind(domain.vars[d], emitter.emitConstant(rest % domain.shape[d]));
    };
    emitIteration(bindVariables, [&] {
      emitStores(stage);
      for (auto [reduction, sum] : llvm::zip_equal(stage.reductions, sums))
        sum = step(reduction.op, sum, reduction.operandIndex, /*mayReorder=*/false);
    });
  }
  for (auto [reduction, sum] : llvm::zip_equal(stage.reductions, sums))
    rowValues[reduction.op] = {sum, emitter.getDepth()};
}

void CpuKernel::emitUnrolledRows(const IndexExpr &laneVar, Value low, Value high) {
  Loop rows = loops.open(low, high, 1, {}, /*isParallel=*/true);
  emitter.bind(laneVar, rows.iv);
  for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
    currentStage = number;
    emitUnrolledStage(stage);
  }
  loops.close(rows);
}

/// The most iterations that are computed between reading and writing an accumulator: its way through memory is then a
/// small part of the work. Their code has at most about as many operations (kMostOperations).
static constexpr int64_t kMostTogether = 4;
static constexpr double kMostOperations = 32;
/// Kernels of fewer elements than this take less time than the code for several iterations takes to compile.
static constexpr int64_t kLeastElements = 1 << 16;

int64_t CpuKernel::countTogether(const KernelSchedule::Stage &stage) const {
  const KernelSchedule::Domain &domain = schedule.domains[stage.domain];
  if (stage.reductions.empty() || !stage.scans.empty() || !stage.stageCaches.empty() || domain.shape.empty() ||
      schedule.getExtent() * domain.getExtent() < kLeastElements)
    return 1;
  double cost = 1;
  plan::KernelOp inKernel = kernel; // MLIR's operations have no constant accessors.
  for (Operation &op : *inKernel.getBody().begin())
    for (Value result : op.getResults())
      cost += getOpCost(result, /*isLoad=*/false);
  int64_t most = std::min({kMostTogether, domain.shape.back(), static_cast<int64_t>(kMostOperations / cost)});
  // A divisor leaves no iteration for a second loop.
  for (int64_t count = most; 2 * count > most; --count)
    if (count > 0 && domain.shape.back() % count == 0)
      return count;
  return std::max<int64_t>(most, 1);
}

void CpuKernel::emitStageOfBlock(const KernelSchedule::Stage &stage, const IndexExpr &laneVar, Value base,
                                 Value count) {
  auto overLanes = [&](llvm::function_ref<void()> emitBody, bool isCompact = false) {
    Loop lanes = loops.open(emitter.emitConstant(0), count, 1, {}, /*isParallel=*/true);
    lanes.isCompact = isCompact;
    lane = lanes.iv;
    loopDepth = emitter.getDepth();
    emitter.bind(laneVar, b.create<arith::AddIOp>(loc, base, lane, arith::IntegerOverflowFlags::nsw));
    emitBody();
    loops.close(lanes);
    lane = {};
  };
  auto start = [&](Operation *op) {
    scratch.store(accumulators.lookup(op), accumulatorTypeOf(op), lane, emitIdentity(b, loc, op));
  };
  if (!stage.reductions.empty() || !stage.scans.empty())
    overLanes([&] {
      for (const KernelSchedule::Reduction &reduction : stage.reductions)
        start(reduction.op);
      for (const KernelSchedule::Scan &scan : stage.scans)
        start(scan.op);
    });
  int64_t together = countTogether(stage);
  const KernelSchedule::Domain &domain = schedule.domains[stage.domain];
  auto accumulate = [&](Operation *op, ArrayRef<IndexExpr> index) {
    Value sum = scratch.load(accumulators.lookup(op), accumulatorTypeOf(op), lane);
    sum = step(op, sum, index, /*mayReorder=*/false);
    scratch.store(accumulators.lookup(op), accumulatorTypeOf(op), lane, sum);
    return sum;
  };
  auto emitOne = [&] {
    emitStores(stage);
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      accumulate(reduction.op, reduction.operandIndex);
    for (const KernelSchedule::Scan &scan : stage.scans)
      storeScan(scan, accumulate(scan.op, scan.operandIndex));
  };
  auto emitTogether = [&](Value first) {
    SmallVector<Value> sums;
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      sums.push_back(scratch.load(accumulators.lookup(reduction.op), accumulatorTypeOf(reduction.op), lane));
    for (int64_t number = 0; number < together; ++number) {
      auto bindVariable = [&] {
        Value position =
            b.create<arith::AddIOp>(loc, first, emitter.emitConstant(number), arith::IntegerOverflowFlags::nsw);
        emitter.bind(domain.vars.back(), position);
      };
      emitIteration(bindVariable, [&] {
        emitStores(stage);
        for (auto [reduction, sum] : llvm::zip_equal(stage.reductions, sums))
          sum = step(reduction.op, sum, reduction.operandIndex, /*mayReorder=*/false);
      });
    }
    for (auto [reduction, sum] : llvm::zip_equal(stage.reductions, sums))
      scratch.store(accumulators.lookup(reduction.op), accumulatorTypeOf(reduction.op), lane, sum);
  };
  SmallVector<Value> carried;
  KernelSchedule::Domain outer = domain;
  if (together > 1) {
    outer.shape.pop_back();
    outer.vars.pop_back();
  }
  SmallVector<Loop> nest = loops.openDomain(outer, carried, /*isParallel=*/false);
  for (Loop &loop : nest)
    loop.isPlain = true;
  if (together == 1) {
    overLanes(emitOne);
  } else {
    int64_t size = domain.shape.back(), inGroups = size / together * together;
    Loop groups = loops.open(emitter.emitConstant(0), emitter.emitConstant(inGroups), together);
    groups.isPlain = true;
    overLanes([&] { emitTogether(groups.iv); }, /*isCompact=*/true);
    loops.close(groups);
    if (inGroups < size) {
      Loop rest = loops.open(emitter.emitConstant(inGroups), emitter.emitConstant(size), 1);
      rest.isPlain = true;
      emitter.bind(domain.vars.back(), rest.iv);
      overLanes(emitOne);
      loops.close(rest);
    }
  }
  loops.closeDomain(nest, carried);
}

} // namespace spmdc
