//===- KernelEmitter.cpp - the code of a kernel for a GPU -----------------===//

#include "passes/gpu/KernelEmitter.h"

#include "passes/gpu/GpuKernel.h"
#include "passes/gpu/Passes.h"
#include "passes/gpu/StreamedKernel.h"
#include "passes/kernel/Overwrites.h"

using namespace mlir;

namespace spmdc {

GpuKernel::GpuKernel(plan::KernelOp kernel, KernelSchedule computed, const GpuLimits &limits, gpu::GPUModuleOp target)
    : kernel(kernel), schedule(std::move(computed)), body(KernelBody::of(kernel)),
      mapping(GpuMapping::choose(body, schedule, limits)), target(target), loc(kernel.getLoc()), b(kernel.getContext()),
      emitter(b, loc, body, schedule,
              {[this](Value input) { return pointers.lookup(input); }, [this](ReduceOp op) { return readRowValue(op); },
               [this](Value value, ArrayRef<IndexExpr> index) { return readKept(value, index); },
               [this](OpBuilder &builder, unsigned axis) { return loadCoordinate(builder, loc, coordinates, axis); },
               nullptr, kGpuRounding}),
      code(b, loc, emitter, target, kernel.getSymName().str()) {}

void GpuKernel::emit() {
  Block &block = kernel.getBlock();
  unsigned inputs = block.getNumArguments(), buffers = inputs + body.outputs.size();
  bool hasState = mapping.stateBytes > 0;
  gpu::GPUFuncOp function =
      addKernelFunction(b, kernel, target, mapping.blockThreads, mapping.residentBlocks, hasState);
  if (mapping.clusterBlocks > 1)
    function->setAttr(kClusterBlocksAttrName, b.getI64IntegerAttr(mapping.clusterBlocks));
  describeArguments(function, inputs, hasState ? buffers + 1 : buffers);
  Block *entry = &function.getBody().front();
  for (BlockArgument input : block.getArguments())
    pointers[input] = entry->getArgument(input.getArgNumber());
  for (size_t i = 0; i < body.outputs.size(); ++i)
    outputs.push_back(entry->getArgument(inputs + i));
  if (hasState) {
    state = entry->getArgument(buffers);
    continued.emplace(schedule, mapping.gridBlocks, mapping.blockThreads);
  }
  coordinates = entry->getArguments().back();
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
    emitGroupPerRow(hasState ? takeBlockNumber() : blockNumber);
    break;
  case GpuMapping::Kind::Tiles:
    emitTiles(blockNumber);
    break;
  }
  b.create<gpu::ReturnOp>(loc);
}

void GpuKernel::describeArguments(gpu::GPUFuncOp function, unsigned inputs, unsigned buffers) {
  SmallVector<bool> isAlone(buffers + 1, true), isReadOnly(buffers + 1, true);
  for (size_t number = inputs + body.outputs.size(); number < buffers; ++number)
    isReadOnly[number] = false;
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
  int64_t sharedOffset = 0;
  int64_t rows = mapping.kind == GpuMapping::Kind::ThreadPerRow ? mapping.vector : 1;
  for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
    int64_t vector = isGroup ? mapping.domains[stage.domain].vector : rows;
    int64_t scanned = isGroup ? 1 + vector * mapping.domains[stage.domain].scanRounds : rows;
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      accumulators[reduction.op] = code.allocateLocal(accumulatorTypeOf(reduction.op), vector);
    for (const KernelSchedule::Scan &scan : stage.scans)
      accumulators[scan.op] = code.allocateLocal(accumulatorTypeOf(scan.op), scanned);
    for (const KernelSchedule::StageCache &stageCache : stage.stageCaches) {
      Kept kept;
      kept.value = stageCache.value;
      kept.index = stageCache.index;
      kept.stage = number;
      int64_t count = llvm::divideCeil(schedule.domains[stage.domain].getExtent(), mapping.strips) * rows;
      if (isGroup) {
        const GpuMapping::DomainMapping &domain = mapping.domains[stage.domain];
        count = domain.rounds * domain.vector;
        kept.isShared = mapping.hasSharedCaches && !domain.isUnrolled;
      }
      Type type = elementTypeOf(stageCache.value);
      if (kept.isShared && mapping.sharedBytes) {
        kept.memory = code.getLaunchShared(sharedOffset);
        sharedOffset += llvm::alignTo(count * mapping.blockThreads *
                                          spmd::byteSize(cast<ArrayType>(stageCache.value.getType()).getDType()),
                                      kSharedAlignment);
      } else {
        kept.memory =
            kept.isShared ? code.allocateShared(type, count * mapping.blockThreads) : code.allocateLocal(type, count);
      }
      keptValues.push_back(kept);
    }
  }
  for (unsigned number : mapping.tiledLoads) {
    Kept kept;
    kept.value = schedule.loads[number].value;
    kept.index = schedule.loads[number].index;
    kept.isTile = kept.isShared = true;
    kept.memory = code.allocateShared(elementTypeOf(kept.value), mapping.tileSide * tilePitch());
    keptValues.push_back(kept);
  }
}

/// With several rows, values of one row belong to the scope of the element: otherwise the emitter would reuse them for
/// another row.
ElementEmitter::Emitted GpuKernel::readRowValue(ReduceOp op) {
  const SmallVector<Emitted, 1> &values = rowValues.find(op)->second;
  if (values.size() == 1)
    return values.front();
  return {values[neighbour].value, elementDepth};
}

std::optional<ElementEmitter::Emitted> GpuKernel::readKept(Value value, ArrayRef<IndexExpr> index) {
  if (ahead)
    for (const LoadedAhead &load : *ahead)
      if (load.value == value && ArrayRef<IndexExpr>(load.index) == index)
        return Emitted{load.loaded, elementDepth};
  for (const Kept &kept : keptValues) {
    if (kept.value != value || ArrayRef<IndexExpr>(kept.index) != index ||
        (kept.isTile ? !readsTiles : kept.stage >= currentStage))
      continue;
    emitter.moveTo(elementDepth);
    return Emitted{code.load(kept.memory, elementTypeOf(value), keptPosition(kept)), elementDepth};
  }
  return std::nullopt;
}

Value GpuKernel::keptPosition(const Kept &kept) { return kept.isShared && !kept.isTile ? sharedSlot : slot; }

void GpuKernel::beginElement(Value position) {
  elementDepth = emitter.getDepth();
  slot = position;
}

void GpuKernel::writeCaches() {
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

void GpuKernel::loadAhead(int64_t count, llvm::function_ref<Value(int64_t)> bind) {
  aheadOfElements.assign(count, {});
  ahead = nullptr;
  for (int64_t e = 0; e < count; ++e)
    code.inScope([&] {
      beginElement(bind(e));
      for (const KernelSchedule::Load &load : schedule.loads)
        if (load.stage == currentStage && !load.isGuarded)
          aheadOfElements[e].push_back({load.value, load.index, emitter.emit(load.value, load.index)});
    });
}

void GpuKernel::emitElements(const KernelSchedule::Stage &stage, int64_t count, int64_t vector,
                             llvm::function_ref<Value(int64_t)> bind, ArrayRef<KernelSchedule::Scan> scans) {
  std::vector<SmallVector<Value>> stored(count), scanned(count);
  auto compute = [&](int64_t e) {
    neighbour = e % vector;
    beginElement(bind(e));
    writeCaches();
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      accumulate(reduction.op, reduction.operandIndex, e % vector);
    for (const KernelSchedule::Store &store : stage.stores)
      stored[e].push_back(emitter.emit(body.outputs[store.output], store.index));
    for (const KernelSchedule::Scan &scan : scans)
      scanned[e].push_back(accumulate(scan.op, scan.operandIndex, e % vector));
  };
  size_t outputCount = stage.stores.size() + scans.size();
  auto write = [&](int64_t e, size_t output) {
    if (output >= stage.stores.size())
      return storeScan(scans[output - stage.stores.size()], scanned[e][output - stage.stores.size()]);
    const KernelSchedule::Store &store = stage.stores[output];
    emitter.store(outputs[store.output], cast<ArrayType>(body.outputs[store.output].getType()), store.index,
                  stored[e][output]);
  };
  bool isStored = outputCount > 0;
  // One output after the other: LLVM does not merge stores to one output across stores to another, since for all it
  // knows they may alias.
  auto writeAll = [&](bool isBound) {
    for (size_t output = 0; output < outputCount; ++output) {
      bool isVector = vector > 1 && output < stage.stores.size() && isAligned(stage, stage.stores[output], vector);
      for (int64_t e = 0; e < count; e += isVector ? vector : 1)
        if (isBound)
          write(e, output);
        else
          code.inScope([&] {
            bind(e);
            if (!isVector)
              return write(e, output);
            SmallVector<Value> values;
            for (int64_t i = e; i < e + vector; ++i)
              values.push_back(stored[i][output]);
            storeVector(stage.stores[output], values);
          });
    }
  };
  if (count == 1) {
    code.inScope([&] {
      compute(0);
      writeAll(/*isBound=*/true);
    });
    return;
  }
  // Calls branch: LLVM would not merge loads between them, and each load would be waited for separately.
  if (count > 1)
    loadAhead(count, bind);
  for (int64_t e = 0; e < count; ++e)
    code.inScope([&] {
      ahead = count > 1 ? &aheadOfElements[e] : nullptr;
      compute(e);
      ahead = nullptr;
    });
  if (isStored)
    writeAll(/*isBound=*/false);
}

bool GpuKernel::isAligned(const KernelSchedule::Stage &stage, const KernelSchedule::Store &store,
                          int64_t vector) const {
  const KernelSchedule::Domain &domain = schedule.domains[stage.domain];
  Value output = body.outputs[store.output];
  if (mapping.kind != GpuMapping::Kind::GroupPerRow || domain.vars.empty() || domain.vars.back().isConstant() ||
      vector * byteSizeOf(elementTypeOf(output)) > 16) // The widest access.
    return false;
  IndexSpace &space = schedule.indexing->space;
  IndexExpr position = space.linearize(store.index, cast<ArrayType>(output.getType()).getShape());
  unsigned variable = domain.vars.back().terms[0].first;
  return position.coefficientOf(variable) == 1 && position.constant % vector == 0 &&
         llvm::all_of(position.terms, [&](auto term) {
           bool isVariable = space.getAtom(term.first).kind == IndexSpace::Atom::Variable;
           return isVariable && (term.first == variable || term.second % vector == 0);
         });
}

void GpuKernel::storeVector(const KernelSchedule::Store &store, ArrayRef<Value> values) {
  auto type = cast<ArrayType>(body.outputs[store.output].getType());
  Type element = type.getElementType(), memory = memoryType(element);
  Value all = b.create<LLVM::UndefOp>(loc, VectorType::get(static_cast<int64_t>(values.size()), memory));
  for (auto [i, value] : llvm::enumerate(values))
    all = b.create<LLVM::InsertElementOp>(loc, all, toMemory(b, loc, element, value),
                                          emitter.emitConstant(static_cast<int64_t>(i)));
  Value position = emitter.emitIndex(schedule.indexing->space.linearize(store.index, type.getShape()));
  Value address = b.create<LLVM::GEPOp>(loc, outputs[store.output].getType(), memory, outputs[store.output],
                                        ArrayRef<LLVM::GEPArg>{position}, /*inbounds=*/true);
  b.create<LLVM::StoreOp>(loc, all, address, values.size() * byteSizeOf(element));
}

void GpuKernel::whereRow(llvm::function_ref<void()> emit) {
  // A thread without one may not even read: another thread may write its result there. Memory would be the same, but
  // the PTX ISA calls it a data race.
  if (hasRow)
    code.ifThen(hasRow, emit);
  else
    emit();
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
    clear(scan.op, mapping.kind == GpuMapping::Kind::ThreadPerRow ? vector : 1);
}

void GpuKernel::storeScan(const KernelSchedule::Scan &scan, Value accumulator) {
  CumulativeOp op = scan.op;
  emitter.store(outputs[scan.output], op.getType(), scan.operandIndex,
                roundElement(b, loc, op.getType().getElementType(), accumulator, kGpuRounding));
}

Value GpuKernel::isEqual(Value x, Value y) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y); }

Value GpuKernel::minus(Value x, Value y) { return b.create<arith::SubIOp>(loc, x, y); }

int64_t GpuKernel::rowExtent() const {
  int64_t extent = 1;
  for (int64_t size : schedule.rowShape)
    extent *= size;
  return extent;
}

static MatrixUnit getMatrixUnit(plan::KernelOp kernel) {
  auto warpgroups = kernel->getAttrOfType<BoolAttr>(kWarpgroupsAttrName);
  return warpgroups && warpgroups.getValue() ? MatrixUnit::Warpgroup : MatrixUnit::Warp;
}

LogicalResult emitGpuKernel(plan::KernelOp kernel, gpu::GPUModuleOp target) {
  if (!kernel->hasAttr(kBlockThreadsAttrName))
    return kernel.emitError() << "kernel '" << kernel.getSymName()
                              << "' is not mapped to a GPU's threads; start from stage 'partitioned' or an earlier one";
  GpuLimits limits;
  if (auto bytes = kernel->getAttrOfType<IntegerAttr>(kSharedLimitAttrName))
    limits.sharedBytes = bytes.getInt();
  if (auto blocks = kernel->getAttrOfType<IntegerAttr>(kMaxClusterAttrName))
    limits.clusterBlocks = blocks.getInt();
  if (kernel->hasAttr(kStreamedAttrName)) {
    FailureOr<StreamedProducts> products = StreamedProducts::of(kernel);
    std::optional<StreamTiles> tiles;
    if (succeeded(products))
      tiles = StreamTiles::choose(*products, limits.sharedBytes, getMatrixUnit(kernel));
    if (!tiles)
      return failure(); // spmdc-map-to-gpu has reported it.
    StreamedKernel(kernel, std::move(*products), std::move(*tiles), target).emit();
    return success();
  }
  FailureOr<KernelSchedule> schedule = KernelSchedule::compute(kernel, ScheduleTraits::forGpu(limits));
  if (failed(schedule))
    return failure();
  GpuKernel(kernel, std::move(*schedule), limits, target).emit();
  return success();
}

} // namespace spmdc
