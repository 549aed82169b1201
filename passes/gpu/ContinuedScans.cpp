//===- ContinuedScans.cpp - totals that blocks pass on --------------------===//

#include "passes/gpu/ContinuedScans.h"

#include "passes/gpu/GpuKernel.h"
#include "passes/kernel/BlockSizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

ContinuedScans::ContinuedScans(const KernelSchedule &schedule, int64_t blocks, int64_t groupBlocks)
    : groupBlocks(groupBlocks) {
  words = 1;
  for (const KernelSchedule::Stage &stage : schedule.stages)
    for (const KernelSchedule::Scan &scan : stage.scans) {
      CumulativeOp op = scan.op;
      if (!op.getContinued())
        continue;
      ContinuedScan added{.op = op};
      added.blocksOfLine = op.getType().getShape()[op.getDim() - 1];
      added.groupsOfLine = llvm::divideCeil(added.blocksOfLine, groupBlocks);
      added.firstBlock = words;
      added.firstGroup = words + blocks;
      words = added.firstGroup + blocks / added.blocksOfLine * added.groupsOfLine;
      scans.push_back(added);
    }
}

bool ContinuedScans::isIn(const KernelSchedule &schedule) {
  return llvm::any_of(schedule.stages, [](const KernelSchedule::Stage &stage) {
    return llvm::any_of(stage.scans,
                        [](const KernelSchedule::Scan &scan) { return CumulativeOp(scan.op).getContinued(); });
  });
}

const ContinuedScan *ContinuedScans::find(CumulativeOp op) const {
  auto found = llvm::find_if(scans, [&](const ContinuedScan &scan) { return scan.op == op; });
  return found == scans.end() ? nullptr : &*found;
}

Value GpuKernel::takeBlockNumber() {
  Value zero = emitter.emitConstant(0), shared = code.allocateShared(b.getI64Type(), 1);
  code.ifThen(isEqual(thread, zero), [&] {
    Value begun = code.countUp(code.wordAt(state, zero));
    code.store(shared, b.getI64Type(), zero, begun);
  });
  code.barrier();
  return code.load(shared, b.getI64Type(), zero);
}

void GpuKernel::emitContinuedScan(const KernelSchedule::Scan &scan, unsigned domainNumber,
                                  const ContinuedScan &continuedScan) {
  CumulativeOp op = scan.op;
  Type type = op.getType().getElementType(), wide = accumulatorTypeOf(op);
  const KernelSchedule::Domain &domain = schedule.domains[domainNumber];
  const GpuMapping::DomainMapping &inner = mapping.domains[domainNumber];
  int64_t vector = inner.vector, rounds = inner.rounds, elements = rounds * vector;
  int64_t groups = domain.getExtent() / vector, warps = mapping.blockThreads / kWarpThreads;
  Value memory = accumulators.lookup(op), zero = emitter.emitConstant(0);
  auto combine = [&](Value x, Value y) {
    return combineElements(b, loc, type, op.getKind(), x, y, /*mayReorder=*/false);
  };
  auto select = [&](Value condition, Value x, Value y) -> Value {
    return b.create<arith::SelectOp>(loc, condition, x, y);
  };
  RoundsOfThread ofThread = roundsOf(inner, groups);
  auto groupOf = [&](int64_t round) { return code.add(ofThread.first, emitter.emitConstant(round * ofThread.stride)); };
  auto bind = [&](int64_t e) -> Value {
    int64_t round = e / vector, number = e % vector;
    if (Value last = code.bindOuter(code.mul(groupOf(round), vector), domain.vars, domain.shape))
      emitter.bind(domain.vars.back(), code.add(last, emitter.emitConstant(number)));
    if (mapping.hasSharedCaches)
      sharedSlot = code.add(code.mul(code.add(thread, emitter.emitConstant(round * mapping.blockThreads)), vector),
                            emitter.emitConstant(number));
    return emitter.emitConstant(e);
  };
  // All rounds at once if all threads have elements in all of them, else one round after the other.
  bool isFull = ofThread.full == rounds;
  auto forElements = [&](llvm::function_ref<void(int64_t, int64_t)> emit) {
    if (isFull)
      return emit(0, elements);
    for (int64_t round = 0; round < rounds; ++round)
      code.ifThen(code.isLess(groupOf(round), groups), [&] { emit(round * vector, (round + 1) * vector); });
  };
  if (!isFull)
    for (int64_t e = 0; e < elements; ++e)
      code.store(memory, wide, emitter.emitConstant(1 + e), emitIdentity(b, loc, op));
  forElements([&](int64_t begin, int64_t end) {
    loadAhead(end - begin, [&](int64_t e) { return bind(begin + e); });
    for (int64_t e = begin; e < end; ++e)
      code.inScope([&] {
        ahead = &aheadOfElements[e - begin];
        beginElement(bind(e));
        code.store(memory, wide, emitter.emitConstant(1 + e), emitter.emit(op.getOperand(), scan.operandIndex));
        ahead = nullptr;
      });
  });
  // The warp's elements: `carry` is the sum of its rounds before.
  Value carry = emitIdentity(b, loc, op), isFirstLane = isEqual(warpLane, zero);
  SmallVector<Value> sums;
  for (int64_t e = 0; e < elements; ++e) {
    Value element = code.load(memory, wide, emitter.emitConstant(1 + e));
    sums.push_back(e % vector ? combine(sums.back(), element) : element);
    if ((e + 1) % vector)
      continue;
    Value sum = sums.back();
    for (int64_t offset = 1; offset < kWarpThreads; offset *= 2) {
      Value left = code.shuffle(sum, gpu::ShuffleMode::UP, offset);
      sum = select(code.isLess(warpLane, offset), sum, combine(left, sum));
    }
    Value left = code.shuffle(sum, gpu::ShuffleMode::UP, 1);
    Value before = select(isFirstLane, carry, combine(carry, left));
    for (int64_t v = 0; v < vector; ++v)
      sums[e - v] = combine(before, sums[e - v]);
    carry = combine(carry, code.shuffle(sum, gpu::ShuffleMode::IDX, kWarpThreads - 1));
  }
  Value totals = code.allocateShared(wide, warps);
  code.ifThen(isFirstLane, [&] { code.store(totals, wide, warp, carry); });
  code.barrier();
  Value before = emitIdentity(b, loc, op), total = before;
  for (int64_t w = 0; w < warps; ++w) {
    before = select(isEqual(warp, emitter.emitConstant(w)), total, before);
    total = combine(total, code.load(totals, wide, emitter.emitConstant(w)));
  }
  before = combine(emitTotalBefore(continuedScan, total), before);
  forElements([&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e)
      code.inScope([&] {
        beginElement(bind(e));
        storeScan(scan, combine(before, sums[e]));
      });
  });
}

/// A total and the sign that it is there, as one word.
static Value pack(OpBuilder &b, Location loc, Value total) {
  unsigned width = total.getType().getIntOrFloatBitWidth();
  if (isa<FloatType>(total.getType()))
    total = b.create<arith::BitcastOp>(loc, b.getIntegerType(width), total);
  Value low = b.create<arith::ExtUIOp>(loc, b.getI64Type(), total);
  Value high = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(int64_t{1} << kMaxContinuedBits));
  return b.create<arith::OrIOp>(loc, low, high);
}

static Value unpack(OpBuilder &b, Location loc, Value word, Type type) {
  Value bits = b.create<arith::TruncIOp>(loc, b.getIntegerType(type.getIntOrFloatBitWidth()), word);
  return isa<FloatType>(type) ? b.create<arith::BitcastOp>(loc, type, bits).getResult() : bits;
}

Value GpuKernel::emitTotalBefore(const ContinuedScan &scan, Value total) {
  CumulativeOp op = scan.op;
  Type type = op.getType().getElementType(), wide = accumulatorTypeOf(op);
  int64_t group = continued->groupBlocks, warps = group / kWarpThreads, extent = rowExtent();
  auto combine = [&](Value x, Value y) {
    return combineElements(b, loc, type, op.getKind(), x, y, /*mayReorder=*/false);
  };
  Value zero = emitter.emitConstant(0), isFirst = isEqual(thread, zero);
  auto publish = [&](int64_t first, Value number, Value value) {
    code.writeWord(code.wordAt(state, code.add(emitter.emitConstant(first), number)), pack(b, loc, value));
  };
  code.ifThen(isFirst, [&] { publish(scan.firstBlock, rowNumber, total); });

  auto [line, block] = code.divRem(rowNumber, scan.blocksOfLine, extent);
  auto [groupOfLine, place] = code.divRem(block, group, extent);
  Value groupNumber = code.add(code.mul(line, scan.groupsOfLine), groupOfLine);
  // No block of the group comes after the last one, so the last thread is free to read the total of the groups before.
  Value isLast = isEqual(thread, emitter.emitConstant(group - 1));
  Value isBehindGroup = b.create<arith::AndIOp>(loc, isLast, code.isLess(zero, groupOfLine));
  Value isBehindBlock = code.isLess(thread, place);
  Value memory = accumulators.lookup(op), identity = emitIdentity(b, loc, op);
  code.store(memory, wide, zero, identity);
  code.ifThen(b.create<arith::OrIOp>(loc, isBehindGroup, isBehindBlock), [&] {
    Value ofBlock = code.add(emitter.emitConstant(scan.firstBlock), code.add(minus(rowNumber, place), thread));
    Value ofGroup = minus(code.add(emitter.emitConstant(scan.firstGroup), groupNumber), emitter.emitConstant(1));
    Value word = b.create<arith::SelectOp>(loc, isBehindBlock, ofBlock, ofGroup);
    Value read = code.awaitWord(code.wordAt(state, word));
    code.store(memory, wide, zero, unpack(b, loc, read, wide));
  });
  Value own = code.load(memory, wide, zero);
  Value sum = code.reduceWarp(type, op.getKind(), b.create<arith::SelectOp>(loc, isLast, identity, own));
  Value sums = code.allocateShared(wide, warps + 1);
  code.ifThen(isEqual(warpLane, zero), [&] { code.store(sums, wide, warp, sum); });
  code.ifThen(isLast, [&] { code.store(sums, wide, emitter.emitConstant(warps), own); });
  code.barrier();
  Value before = code.load(sums, wide, emitter.emitConstant(warps));
  for (int64_t w = 0; w < warps; ++w)
    before = combine(before, code.load(sums, wide, emitter.emitConstant(w)));
  // The last block of a group publishes the total up to its own end.
  Value isEnd = b.create<arith::AndIOp>(loc, isFirst, isEqual(place, emitter.emitConstant(group - 1)));
  code.ifThen(isEnd, [&] { publish(scan.firstGroup, groupNumber, combine(before, total)); });
  return before;
}

} // namespace spmdc
