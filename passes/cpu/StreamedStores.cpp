//===- StreamedStores.cpp - large outputs, past the caches ----------------===//
//
// An ordinary store reads the line that it writes into. A large output leaves the caches before another kernel reads
// it, so its lines are written whole, with non-temporal stores. LLVM does not vectorize a loop with such stores, as
// they need aligned addresses. So the loop computes a block into scratch memory in the first-level cache, and a second
// loop writes the block: elements up to the first line, lines, and the remaining elements. A block holds several rows
// if these are short: with a block a row, the code around the copy of each took more time than the copy, because a core
// then loads only the lines of one row at a time.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/CpuKernel.h"
#include "passes/kernel/Overwrites.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

/// An output of this size is faster streamed even if the next kernel reads it at once: 1.8 ms instead of 2.0 ms for a
/// sum of two arrays and a reduction of the result; for half the size it is 0.85 ms instead of 0.62 ms
/// (`benchmarks/RESULTS.md`).
static constexpr int64_t kStreamBytes = 8 << 20;
static constexpr int64_t kLineBytes = 64;
/// More outputs than this would not leave space for the inputs in that cache.
static constexpr size_t kMaxStreams = 4;

void CpuKernel::chooseStreams() {
  if (schedule.lanes == Lanes::Inner || schedule.rowShape.empty() || !isOneLoop() ||
      schedule.rowVars.back().isConstant())
    return;
  const IndexSpace &space = schedule.indexing->space;
  unsigned laneAtom = schedule.rowVars.back().terms[0].first;
  SmallVector<unsigned> chosen;
  for (const KernelSchedule::Store &store : schedule.stages[0].stores) {
    auto type = cast<ArrayType>(body.outputs[store.output].getType());
    IndexExpr position = schedule.indexing->space.linearize(store.index, type.getShape());
    if (type.getNumElements() * byteSizeOf(type.getElementType()) >= kStreamBytes && !space.countDivisions(position) &&
        position.coefficientOf(laneAtom) == 1)
      chosen.push_back(store.output);
  }
  if (chosen.size() > kMaxStreams)
    return;
  int64_t elements = schedule.lanes == Lanes::Tiles ? schedule.getTileRows() * kTileColumns : kStreamElements;
  for (unsigned output : chosen) {
    Value isInPlace;
    for (BlockArgument input : kernel.getBlock().getArguments())
      if (canOverwrite(kernel, input.getArgNumber(), output)) {
        Value isSame = b.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::eq, pointers.lookup(input), outputs[output]);
        isInPlace = isInPlace ? b.create<arith::OrIOp>(loc, isInPlace, isSame) : isSame;
      }
    streams[output] = {scratch.allocate(elementTypeOf(body.outputs[output]), elements, kLineBytes), isInPlace};
  }
}

bool CpuKernel::streamsRowsTogether() const {
  if (streams.empty() || schedule.lanes != Lanes::Rows || schedule.rowShape.back() >= kStreamElements)
    return false;
  return llvm::all_of(schedule.stages[0].stores, [&](const KernelSchedule::Store &store) {
    ArrayRef<int64_t> shape = cast<ArrayType>(body.outputs[store.output].getType()).getShape();
    return streams.contains(store.output) &&
           schedule.indexing->space.linearize(store.index, shape) == schedule.getRow();
  });
}

void CpuKernel::emitBlocksOfRows(llvm::function_ref<void(Value low, Value high)> emitRows) {
  Loop blocks = loops.open(begin, end, kStreamElements);
  blocks.isPlain = true;
  Value rest = b.create<arith::SubIOp>(loc, end, blocks.iv);
  Value count = b.create<arith::MinSIOp>(loc, rest, emitter.emitConstant(kStreamElements));
  emitRows(blocks.iv, b.create<arith::AddIOp>(loc, blocks.iv, count));
  for (const KernelSchedule::Store &store : schedule.stages[0].stores)
    streamBlock(store, emitter.emitConstant(0), count, blocks.iv);
  loops.close(blocks);
}

void CpuKernel::streamBlock(const KernelSchedule::Store &store, Value first, Value count, Value position) {
  auto entry = streams.find(store.output);
  if (entry == streams.end())
    return;
  const Stream &stream = entry->second;
  auto type = cast<ArrayType>(body.outputs[store.output].getType());
  int64_t bytes = byteSizeOf(type.getElementType()), lineElements = kLineBytes / bytes;
  Type element = b.getIntegerType(8 * bytes), pointer = LLVM::LLVMPointerType::get(b.getContext());
  if (!position)
    position = emitter.emitIndex(schedule.indexing->space.linearize(store.index, type.getShape()));
  auto elementAt = [&](Value base, Value index) -> Value {
    return b.create<LLVM::GEPOp>(loc, pointer, element, base, ArrayRef<LLVM::GEPArg>{index}, /*inbounds=*/true);
  };
  Value from = elementAt(stream.memory, first), to = elementAt(outputs[store.output], position);
  Value line = emitter.emitConstant(lineElements), zero = emitter.emitConstant(0);
  auto copyElements = [&](Value low, Value high, bool isShort) {
    Loop loop = loops.open(low, high, 1, {}, /*isParallel=*/!isShort);
    loop.isPlain = isShort; // Code for vectors would take LLVM longer than all else of a small kernel.
    auto load = b.create<LLVM::LoadOp>(loc, element, elementAt(from, loop.iv), bytes);
    auto copied = b.create<LLVM::StoreOp>(loc, load, elementAt(to, loop.iv), bytes);
    loops.annotate(load);
    loops.annotate(copied);
    loops.close(loop);
  };
  // The elements in front of the first whole line. In place, the output's lines are in the cache already.
  Value address = b.create<LLVM::PtrToIntOp>(loc, b.getI64Type(), to);
  Value beforeLine =
      b.create<arith::AndIOp>(loc, b.create<arith::SubIOp>(loc, zero, address), emitter.emitConstant(kLineBytes - 1));
  Value head = b.create<arith::DivUIOp>(loc, beforeLine, emitter.emitConstant(bytes));
  head = b.create<arith::MinSIOp>(loc, head, count);
  if (stream.isInPlace)
    head = b.create<arith::SelectOp>(loc, stream.isInPlace, count, head);
  copyElements(zero, head, /*isShort=*/!stream.isInPlace);
  Value lines = b.create<arith::DivUIOp>(loc, b.create<arith::SubIOp>(loc, count, head), line);
  Value tail = b.create<arith::AddIOp>(loc, head, b.create<arith::MulIOp>(loc, lines, line));
  Loop whole = loops.open(head, tail, lineElements);
  whole.isPlain = true;
  auto load = b.create<LLVM::LoadOp>(loc, VectorType::get({lineElements}, element), elementAt(from, whole.iv), bytes);
  b.create<LLVM::StoreOp>(loc, load, elementAt(to, whole.iv), kLineBytes, /*isVolatile=*/false, /*isNonTemporal=*/true);
  loops.close(whole);
  copyElements(tail, count, /*isShort=*/true);
}

void CpuKernel::finishStreams() {
  // Other threads may read the output once the kernel has returned.
  if (!streams.empty())
    b.create<LLVM::CallIntrinsicOp>(loc, TypeRange(), "llvm.x86.sse.sfence", ValueRange());
}

} // namespace spmdc
