//===- KernelEmitter.cpp - the code of a kernel for a GPU -----------------===//

#include "passes/gpu/KernelEmitter.h"

#include "passes/gpu/GpuKernel.h"
#include "passes/gpu/Passes.h"
#include "passes/kernel/Overwrites.h"

using namespace mlir;

namespace spmdc {

GpuKernel::GpuKernel(plan::KernelOp kernel, KernelSchedule computed, gpu::GPUModuleOp target)
    : kernel(kernel), schedule(std::move(computed)), body(KernelBody::of(kernel)),
      mapping(GpuMapping::choose(body, schedule)), target(target), loc(kernel.getLoc()), b(kernel.getContext()),
      emitter(b, loc, body, schedule,
              {[this](Value input) { return pointers.lookup(input); },
               [this](ReduceOp op) { return rowValues.lookup(op); },
               [this](Value value, ArrayRef<IndexExpr> index) { return readKept(value, index); },
               [this](OpBuilder &builder, unsigned axis) { return loadCoordinate(builder, loc, coordinates, axis); },
               nullptr}),
      code(b, loc, emitter, target, kernel.getSymName().str()) {}

void GpuKernel::emit() {
  Block &block = kernel.getBlock();
  unsigned inputs = block.getNumArguments(), buffers = inputs + body.outputs.size();
  SmallVector<Type> types(buffers + 1, LLVM::LLVMPointerType::get(b.getContext()));
  b.setInsertionPoint(target.getBody()->getTerminator());
  auto function = b.create<gpu::GPUFuncOp>(loc, kernel.getSymName(), b.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function.setKnownBlockSize(std::array<int32_t, 3>{static_cast<int32_t>(mapping.blockThreads), 1, 1});
  describeArguments(function, inputs, buffers);
  Block *entry = &function.getBody().front();
  for (BlockArgument input : block.getArguments())
    pointers[input] = entry->getArgument(input.getArgNumber());
  for (size_t i = 0; i < body.outputs.size(); ++i)
    outputs.push_back(entry->getArgument(inputs + i));
  coordinates = entry->getArgument(buffers);
  b.setInsertionPointToStart(entry);
  allocate();
  thread = code.getThread(mapping.blockThreads);
  Value blockNumber = code.getBlock(mapping.gridBlocks);
  emitter.pushScope(entry);
  switch (mapping.kind) {
  case GpuMapping::Kind::Flat:
    emitFlat(blockNumber);
    break;
  case GpuMapping::Kind::ThreadPerRow:
    emitThreadPerRow(blockNumber);
    break;
  case GpuMapping::Kind::GroupPerRow:
    emitGroupPerRow(blockNumber);
    break;
  case GpuMapping::Kind::Tiles:
    emitTiles(blockNumber);
    break;
  }
  b.create<gpu::ReturnOp>(loc);
}

void GpuKernel::describeArguments(gpu::GPUFuncOp function, unsigned inputs, unsigned buffers) {
  SmallVector<bool> isAlone(buffers + 1, true), isReadOnly(buffers + 1, true);
  for (size_t number = 0; number < body.outputs.size(); ++number) {
    isReadOnly[inputs + number] = false;
    for (BlockArgument input : kernel.getBlock().getArguments())
      if (canOverwrite(kernel, input.getArgNumber(), number))
        isAlone[inputs + number] = isAlone[input.getArgNumber()] = isReadOnly[input.getArgNumber()] = false;
  }
  function->setAttr(kNoAliasAttrName, b.getDenseBoolArrayAttr(isAlone));
  function->setAttr(kReadOnlyAttrName, b.getDenseBoolArrayAttr(isReadOnly));
}

void GpuKernel::allocate() {
  bool isGroup = mapping.kind == GpuMapping::Kind::GroupPerRow;
  for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
    int64_t vector = isGroup ? mapping.domains[stage.domain].vector : 1;
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      accumulators[reduction.op] = code.allocateLocal(accumulatorTypeOf(reduction.op), vector);
    for (const KernelSchedule::Scan &scan : stage.scans)
      accumulators[scan.op] = code.allocateLocal(accumulatorTypeOf(scan.op), 1);
    for (const KernelSchedule::Stash &stash : stage.stashes) {
      Kept kept;
      kept.value = stash.value;
      kept.index = stash.index;
      kept.stage = number;
      int64_t count = schedule.domains[stage.domain].getExtent();
      if (isGroup) {
        const GpuMapping::DomainMapping &domain = mapping.domains[stage.domain];
        count = domain.rounds * domain.vector;
        kept.isShared = mapping.hasSharedStashes && !domain.isUnrolled;
      }
      Type type = elementTypeOf(stash.value);
      kept.memory =
          kept.isShared ? code.allocateShared(type, count * mapping.blockThreads) : code.allocateLocal(type, count);
      keptValues.push_back(kept);
    }
  }
  for (unsigned number : mapping.tiledLoads) {
    Kept kept;
    kept.value = schedule.loads[number].value;
    kept.index = schedule.loads[number].index;
    kept.isTile = kept.isShared = true;
    kept.memory = code.allocateShared(elementTypeOf(kept.value), kTileSide * kTilePitch);
    keptValues.push_back(kept);
  }
}

std::optional<ElementEmitter::Emitted> GpuKernel::readKept(Value value, ArrayRef<IndexExpr> index) {
  for (const Kept &kept : keptValues) {
    if (kept.value != value || ArrayRef<IndexExpr>(kept.index) != index ||
        (kept.isTile ? !readsTiles : kept.stage >= currentStage))
      continue;
    emitter.moveTo(elementDepth);
    return Emitted{code.load(kept.memory, elementTypeOf(value), keptPosition(kept)), elementDepth};
  }
  return std::nullopt;
}

Value GpuKernel::keptPosition(const Kept &kept) {
  if (kept.isTile || !kept.isShared)
    return slot;
  return code.add(code.mul(slot, mapping.blockThreads), thread);
}

void GpuKernel::beginElement(Value position) {
  elementDepth = emitter.getDepth();
  slot = position;
}

void GpuKernel::writeStashes() {
  for (const Kept &kept : keptValues)
    if (!kept.isTile && kept.stage == currentStage) {
      Value value = emitter.emit(kept.value, kept.index);
      code.store(kept.memory, elementTypeOf(kept.value), keptPosition(kept), value);
    }
}

Value GpuKernel::accumulate(Operation *op, ArrayRef<IndexExpr> index, int64_t number) {
  Value operand = emitter.emit(op->getOperand(0), index);
  Value position = emitter.emitConstant(number);
  Value sum = code.load(accumulators.lookup(op), accumulatorTypeOf(op), position);
  sum = combineElements(b, loc, elementTypeOf(op->getResult(0)), reductionKindOf(op), sum, operand,
                        /*mayReorder=*/false);
  code.store(accumulators.lookup(op), accumulatorTypeOf(op), position, sum);
  return sum;
}

void GpuKernel::emitElements(const KernelSchedule::Stage &stage, int64_t vector,
                             llvm::function_ref<Value(int64_t)> bind, ArrayRef<KernelSchedule::Scan> scans) {
  std::vector<SmallVector<Value>> stored(vector);
  SmallVector<Value> scanned;
  auto compute = [&](int64_t v) {
    beginElement(bind(v));
    writeStashes();
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      accumulate(reduction.op, reduction.operandIndex, v);
    for (const KernelSchedule::Store &store : stage.stores)
      stored[v].push_back(emitter.emit(body.outputs[store.output], store.index));
    for (const KernelSchedule::Scan &scan : scans)
      scanned.push_back(accumulate(scan.op, scan.operandIndex, 0));
  };
  auto write = [&](int64_t v) {
    for (auto [store, value] : llvm::zip(stage.stores, stored[v]))
      emitter.store(outputs[store.output], cast<ArrayType>(body.outputs[store.output].getType()), store.index, value);
    for (auto [scan, value] : llvm::zip(scans, scanned))
      storeScan(scan, value);
  };
  if (vector == 1) {
    code.inScope([&] {
      compute(0);
      write(0);
    });
    return;
  }
  for (int64_t v = 0; v < vector; ++v)
    code.inScope([&] { compute(v); });
  if (!stage.stores.empty())
    for (int64_t v = 0; v < vector; ++v)
      code.inScope([&] {
        bind(v);
        write(v);
      });
}

void GpuKernel::clear(Operation *op, int64_t count) {
  Value identity = emitIdentity(b, loc, op);
  for (int64_t v = 0; v < count; ++v)
    code.store(accumulators.lookup(op), accumulatorTypeOf(op), emitter.emitConstant(v), identity);
}

void GpuKernel::clearAccumulators(const KernelSchedule::Stage &stage, int64_t vector) {
  for (const KernelSchedule::Reduction &reduction : stage.reductions)
    clear(reduction.op, vector);
  for (const KernelSchedule::Scan &scan : stage.scans)
    clear(scan.op, 1);
}

void GpuKernel::storeScan(const KernelSchedule::Scan &scan, Value accumulator) {
  CumulativeOp op = scan.op;
  emitter.store(outputs[scan.output], op.getType(), scan.operandIndex,
                roundElement(b, loc, op.getType().getElementType(), accumulator));
}

int64_t GpuKernel::rowExtent() const {
  int64_t extent = 1;
  for (int64_t size : schedule.rowShape)
    extent *= size;
  return extent;
}

LogicalResult emitGpuKernel(plan::KernelOp kernel, gpu::GPUModuleOp target) {
  if (!kernel->hasAttr(kBlockThreadsAttrName))
    return kernel.emitError() << "kernel '" << kernel.getSymName()
                              << "' is not mapped to a GPU's threads; begin at the station 'partitioned' or before";
  FailureOr<KernelSchedule> schedule = KernelSchedule::compute(kernel);
  if (failed(schedule))
    return failure();
  GpuKernel(kernel, std::move(*schedule), target).emit();
  return success();
}

} // namespace spmdc
