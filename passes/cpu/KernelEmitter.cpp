//===- KernelEmitter.cpp - the function of a kernel for a CPU -------------===//

#include "passes/cpu/KernelEmitter.h"

#include "passes/cpu/CpuKernel.h"
#include "passes/cpu/KernelFunction.h"
#include "passes/cpu/StreamedLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/bit.h"

using namespace mlir;

namespace spmdc {

/// A cache line, and the widest vector.
static constexpr unsigned kScratchAlignment = 64;
/// The accumulators of a block take at most this much of a first-level cache. A block of 4096 rows of f32 reads 16 KiB
/// at a time, for which hardware prefetches; 256 rows took 1.4 times longer (`benchmarks/RESULTS.md`).
static constexpr int64_t kAccumulatorBytes = 16384;

/// Runs of up to so many bytes are copied by vectors of the kernel itself. The C library's memcpy may use vectors of 16
/// bytes only, so that its stores fill the processor's queue: an exchange of dimensions around runs of 256 bytes
/// took 1.3 times as long. Long runs gain more from the instructions that it has for them.
static constexpr int64_t kShortRunBytes = 1024;

CpuKernel::CpuKernel(plan::KernelOp kernel, KernelSchedule computed, const CpuUnits &units, ModuleOp target)
    : kernel(kernel), units(units), schedule(std::move(computed)), body(KernelBody::of(kernel)), target(target),
      loc(kernel.getLoc()), b(kernel.getContext()),
      emitter(b, loc, body, schedule,
              {[this](Value input) { return pointers.lookup(input); }, [this](ReduceOp op) { return rowValue(op); },
               [this](Value value, ArrayRef<IndexExpr> index) { return readCache(value, index); },
               [this](OpBuilder &builder, unsigned axis) { return loadCoordinate(builder, loc, coordinates, axis); },
               [this](Operation *access) { loops.annotate(access); }, Bf16Rounding::Integers,
               /*multipliesQuotients=*/true}),
      loops(b, loc, emitter), scratch(b, loc, [this](Operation *access) { loops.annotate(access); }) {}

bool CpuKernel::copiesShortRuns() const {
  if (schedule.lanes != Lanes::Rows || !isOneLoop() || schedule.rowShape.size() < 2)
    return false;
  int64_t bytes = 0;
  for (Value output : body.outputs)
    bytes = std::max<int64_t>(bytes, byteSizeOf(cast<ArrayType>(output.getType()).getElementType()));
  return schedule.rowShape.back() * bytes <= kShortRunBytes;
}

void CpuKernel::emit() {
  KernelFunction function = openKernelFunction(b, kernel, target, /*callsMemcpy=*/!copiesShortRuns());
  begin = function.begin;
  end = function.end;
  coordinates = function.coordinates;
  pointers = std::move(function.pointers);
  outputs = std::move(function.outputs);
  allocate();
  chooseStreams();
  emitter.pushScope(function.entry);
  switch (schedule.lanes) {
  case Lanes::Inner:
    emitRowsOneByOne();
    break;
  case Lanes::Rows:
    emitRowsSideBySide();
    break;
  case Lanes::Tiles:
    emitTiles();
    break;
  }
  finishStreams();
  b.create<LLVM::ReturnOp>(loc, ValueRange());
}

int64_t CpuKernel::chooseRowBlock() const {
  if (schedule.lanes == Lanes::Inner)
    return 1;
  int64_t loopStages = 0, bytes = 0;
  for (const KernelSchedule::Stage &stage : schedule.stages) {
    if (!stage.stageCaches.empty())
      return kRowBlock;
    loopStages += !schedule.domains[stage.domain].shape.empty();
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      bytes += byteSizeOf(accumulatorTypeOf(reduction.op));
    for (const KernelSchedule::Scan &scan : stage.scans)
      bytes += byteSizeOf(accumulatorTypeOf(scan.op));
  }
  // If several stages walk a block, it should stay in the second-level cache from one to the next.
  if (loopStages != 1 || !bytes)
    return kRowBlock;
  return std::max(kRowBlock, static_cast<int64_t>(llvm::bit_floor<uint64_t>(kAccumulatorBytes / bytes)));
}

int64_t CpuKernel::chooseLaneBlock() const {
  // Half of a first-level cache; four vectors of 16 elements, and a short sum: a row has some work of its own.
  constexpr int64_t kCacheBytes = 24 << 10, kLeastLanes = 64, kLeastTerms = 4;
  int64_t lanes = schedule.rowShape.back(), rereadBytes = 0;
  llvm::DenseSet<Value> counted;
  for (const KernelSchedule::Load &load : schedule.loads) {
    auto type = cast<ArrayType>(load.value.getType());
    int64_t terms = schedule.domains[schedule.stages[load.stage].domain].getExtent();
    // An element that two rows read is not worth a loop, nor is one that is read once for each element of the result: a
    // lookup of rows would find each row again for each block.
    bool isReread = terms >= kLeastTerms && schedule.getExtent() * terms >= 4 * type.getNumElements();
    if (isReread && type.getNumElements() >= lanes && counted.insert(load.value).second)
      rereadBytes += static_cast<int64_t>(type.getBytes());
  }
  if (rereadBytes <= kCacheBytes || lanes < 2 * kLeastLanes)
    return lanes;
  int64_t block = std::max<int64_t>(kLeastLanes, llvm::bit_floor<uint64_t>(kCacheBytes * lanes / rereadBytes));
  return 2 * block > lanes ? lanes : block;
}

void CpuKernel::allocate() {
  int64_t lanes = rowBlock = chooseRowBlock();
  for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
    for (const KernelSchedule::StageCache &stageCache : stage.stageCaches) {
      Type type = elementTypeOf(stageCache.value);
      int64_t extent = schedule.domains[stage.domain].getExtent();
      stageCaches.push_back(
          {&stageCache, static_cast<unsigned>(number), scratch.allocate(type, extent * lanes, kScratchAlignment)});
    }
    if (schedule.lanes == Lanes::Inner || isUnrolled())
      continue;
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      accumulators[reduction.op] = scratch.allocate(accumulatorTypeOf(reduction.op), lanes, kScratchAlignment);
    for (const KernelSchedule::Scan &scan : stage.scans)
      accumulators[scan.op] = scratch.allocate(accumulatorTypeOf(scan.op), lanes, kScratchAlignment);
  }
}

Value CpuKernel::cachePosition(unsigned stage) {
  const KernelSchedule::Domain &domain = schedule.domains[schedule.stages[stage].domain];
  IndexSpace &space = schedule.indexing->space;
  Value position = emitter.emitIndex(space.linearize(domain.vars, domain.shape));
  emitter.moveTo(loopDepth);
  if (!lane)
    return position;
  position = b.create<arith::MulIOp>(loc, position, emitter.emitConstant(rowBlock));
  return b.create<arith::AddIOp>(loc, position, lane);
}

std::optional<ElementEmitter::Emitted> CpuKernel::readCache(Value value, ArrayRef<IndexExpr> index) {
  for (const CacheMemory &stageCache : stageCaches) {
    if (stageCache.stage >= currentStage || stageCache.stageCache->value != value ||
        ArrayRef<IndexExpr>(stageCache.stageCache->index) != index)
      continue;
    emitter.moveTo(loopDepth);
    Type type = elementTypeOf(value);
    return ElementEmitter::Emitted{scratch.load(stageCache.memory, type, cachePosition(stageCache.stage)), loopDepth};
  }
  return std::nullopt;
}

ElementEmitter::Emitted CpuKernel::rowValue(ReduceOp op) {
  if (schedule.lanes == Lanes::Inner || isUnrolled())
    return rowValues.lookup(op);
  emitter.moveTo(loopDepth);
  return {scratch.load(accumulators.lookup(op), accumulatorTypeOf(op), lane), loopDepth};
}

void CpuKernel::emitStores(const KernelSchedule::Stage &stage) {
  // The stage reads all elements before it writes one: an output may have the memory of an input that another output
  // reads.
  for (const KernelSchedule::StageCache &stageCache : stage.stageCaches)
    emitter.emit(stageCache.value, stageCache.index);
  for (const KernelSchedule::Store &store : stage.stores)
    emitter.emit(body.outputs[store.output], store.index);
  for (const KernelSchedule::Reduction &reduction : stage.reductions)
    emitter.emit(ReduceOp(reduction.op).getOperand(), reduction.operandIndex);
  for (const KernelSchedule::Scan &scan : stage.scans)
    emitter.emit(CumulativeOp(scan.op).getOperand(), scan.operandIndex);
  for (const CacheMemory &stageCache : stageCaches) {
    if (stageCache.stage != currentStage)
      continue;
    Type type = elementTypeOf(stageCache.stageCache->value);
    Value value = emitter.emit(stageCache.stageCache->value, stageCache.stageCache->index);
    scratch.store(stageCache.memory, type, cachePosition(stageCache.stage), value);
  }
  for (const KernelSchedule::Store &store : stage.stores) {
    Value output = body.outputs[store.output];
    Value value = emitter.emit(output, store.index);
    if (auto stream = streams.find(store.output); stream != streams.end())
      scratch.store(stream->second.memory, elementTypeOf(output), streamPosition, value);
    else
      emitter.store(outputs[store.output], cast<ArrayType>(output.getType()), store.index, value);
  }
}

Value CpuKernel::step(Operation *op, Value accumulator, ArrayRef<IndexExpr> index, bool mayReorder) {
  return combineElements(b, loc, elementTypeOf(op->getResult(0)), reductionKindOf(op), accumulator,
                         emitter.emit(op->getOperand(0), index), mayReorder);
}

void CpuKernel::storeScan(const KernelSchedule::Scan &scan, Value accumulator) {
  CumulativeOp op = scan.op;
  Type type = op.getType().getElementType();
  emitter.store(outputs[scan.output], op.getType(), scan.operandIndex, roundElement(b, loc, type, accumulator));
}

LogicalResult emitCpuKernel(plan::KernelOp kernel, ModuleOp target, const CpuUnits &units) {
  if (kernel->hasAttr(kBlockThreadsAttrName))
    return kernel.emitError() << "kernel '" << kernel.getSymName()
                              << "' is mapped to a GPU's threads; start from stage 'partitioned' or an earlier one";
  if (kernel->hasAttr(kStreamedAttrName)) {
    FailureOr<StreamedProducts> products = StreamedProducts::of(kernel);
    if (failed(products))
      return failure();
    StreamedLoops(kernel, std::move(*products), units, target).emit();
    return success();
  }
  FailureOr<KernelSchedule> schedule = KernelSchedule::compute(kernel);
  if (failed(schedule))
    return failure();
  CpuKernel(kernel, std::move(*schedule), units, target).emit();
  return success();
}

} // namespace spmdc
