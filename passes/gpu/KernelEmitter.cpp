//===- KernelEmitter.cpp - the code of a kernel for a GPU -----------------===//
//
// What each thread of a mapped kernel (GpuMapping.h) does. All loads of the neighbours that a thread computes stand in
// front of their stores, so that LLVM makes wide accesses of them also where an output lies over an input.
//
// Accumulators and stashes are memory local to a thread, which LLVM turns into registers; only long rows keep theirs in
// shared memory, at places that no other thread reads.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/KernelEmitter.h"

#include "passes/gpu/GpuCode.h"
#include "passes/gpu/Passes.h"
#include "passes/kernel/Overwrites.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace spmdc {
namespace {

using Kind = GpuMapping::Kind;
using Emitted = ElementEmitter::Emitted;

Type elementTypeOf(Value value) { return cast<ArrayType>(value.getType()).getElementType(); }

class GpuKernelEmitter {
public:
  GpuKernelEmitter(plan::KernelOp kernel, KernelSchedule computed, gpu::GPUModuleOp target)
      : kernel(kernel), schedule(std::move(computed)), body(KernelBody::of(kernel)),
        mapping(GpuMapping::choose(body, schedule)), target(target), loc(kernel.getLoc()), b(kernel.getContext()),
        emitter(b, loc, body, schedule,
                {[this](Value input) { return pointers.lookup(input); }, [this](ReduceOp op) { return rowValue(op); },
                 [this](Value value, ArrayRef<IndexExpr> index) { return readKept(value, index); },
                 [this](OpBuilder &builder, unsigned axis) { return loadCoordinate(builder, axis); }, nullptr}),
        code(b, loc, emitter, target, kernel.getSymName().str()) {}

  void run() {
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
    case Kind::Flat:
      emitFlat(blockNumber);
      break;
    case Kind::ThreadPerRow:
      emitThreadPerRow(blockNumber);
      break;
    case Kind::GroupPerRow:
      emitGroupPerRow(blockNumber);
      break;
    case Kind::Tiles:
      emitTiles(blockNumber);
      break;
    }
    b.create<gpu::ReturnOp>(loc);
  }

private:
  /// A value that is read back: a stash of an earlier stage, or an input's square in shared memory.
  struct Kept {
    Value value;
    Index index;
    unsigned stage = 0;
    bool isTile = false, isShared = false;
    Value memory;
  };

  /// What the memory of the parameters allows; `canOverwrite` says which buffers the plan may let overlap.
  void describeArguments(gpu::GPUFuncOp function, unsigned inputs, unsigned buffers) {
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

  static Type accumulatorType(Operation *op) {
    Type type = elementTypeOf(op->getResult(0));
    return isa<FloatType>(type) ? ElementEmitter::registerType(type) : type;
  }

  void allocate() {
    bool isGroup = mapping.kind == Kind::GroupPerRow;
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      int64_t vector = isGroup ? mapping.domains[stage.domain].vector : 1;
      for (const KernelSchedule::Reduction &reduction : stage.reductions)
        accumulators[reduction.op] = code.allocateLocal(accumulatorType(reduction.op), vector);
      for (const KernelSchedule::Scan &scan : stage.scans)
        accumulators[scan.op] = code.allocateLocal(accumulatorType(scan.op), 1);
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

  //===--------------------------------------------------------------------===//
  // What the element emitter asks for
  //===--------------------------------------------------------------------===//

  std::optional<Emitted> readKept(Value value, ArrayRef<IndexExpr> index) {
    for (const Kept &kept : keptValues) {
      if (kept.value != value || ArrayRef<IndexExpr>(kept.index) != index ||
          (kept.isTile ? !readsTiles : kept.stage >= currentStage))
        continue;
      emitter.moveTo(elementDepth);
      return Emitted{code.load(kept.memory, elementTypeOf(value), keptPosition(kept)), elementDepth};
    }
    return std::nullopt;
  }

  Value keptPosition(const Kept &kept) {
    if (kept.isTile || !kept.isShared)
      return slot;
    return code.add(code.mul(slot, mapping.blockThreads), thread);
  }

  Emitted rowValue(ReduceOp op) { return rowValues.lookup(op); }

  Value loadCoordinate(OpBuilder &builder, unsigned axis) {
    Value address =
        builder.create<LLVM::GEPOp>(loc, LLVM::LLVMPointerType::get(builder.getContext()), builder.getI64Type(),
                                    coordinates, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(axis)}, /*inbounds=*/true);
    return builder.create<LLVM::LoadOp>(loc, builder.getI64Type(), address);
  }

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  /// Lets what follows be computed for one element, whose stashes lie at `position`.
  void beginElement(Value position) {
    elementDepth = emitter.getDepth();
    slot = position;
  }

  void writeStashes() {
    for (const Kept &kept : keptValues)
      if (!kept.isTile && kept.stage == currentStage) {
        Value value = emitter.emit(kept.value, kept.index);
        code.store(kept.memory, elementTypeOf(kept.value), keptPosition(kept), value);
      }
  }

  Value accumulate(Operation *op, ReductionKind kind, ArrayRef<IndexExpr> index, int64_t number) {
    Value operand = emitter.emit(op->getOperand(0), index);
    Value position = emitter.emitConstant(number);
    Value sum = code.load(accumulators.lookup(op), accumulatorType(op), position);
    sum = ElementEmitter::combine(b, loc, elementTypeOf(op->getResult(0)), kind, sum, operand, /*mayReorder=*/false);
    code.store(accumulators.lookup(op), accumulatorType(op), position, sum);
    return sum;
  }

  /// A stage at `vector` neighbours: `bind` gives the variables of number v and the position of its stashes. Everything
  /// is read before anything is written. `scans` go along, where one thread walks their dimension.
  void emitElements(const KernelSchedule::Stage &stage, int64_t vector, llvm::function_ref<Value(int64_t)> bind,
                    ArrayRef<KernelSchedule::Scan> scans = {}) {
    std::vector<SmallVector<Value>> stored(vector);
    SmallVector<Value> scanned;
    auto compute = [&](int64_t v) {
      beginElement(bind(v));
      writeStashes();
      for (const KernelSchedule::Reduction &reduction : stage.reductions)
        accumulate(reduction.op, ReduceOp(reduction.op).getKind(), reduction.operandIndex, v);
      for (const KernelSchedule::Store &store : stage.stores)
        stored[v].push_back(emitter.emit(body.outputs[store.output], store.index));
      for (const KernelSchedule::Scan &scan : scans)
        scanned.push_back(accumulate(scan.op, CumulativeOp(scan.op).getKind(), scan.operandIndex, 0));
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

  void clearAccumulators(const KernelSchedule::Stage &stage, int64_t vector) {
    auto clear = [&](Operation *op, ReductionKind kind, int64_t count) {
      Value identity = ElementEmitter::identity(b, loc, elementTypeOf(op->getResult(0)), kind);
      for (int64_t v = 0; v < count; ++v)
        code.store(accumulators.lookup(op), accumulatorType(op), emitter.emitConstant(v), identity);
    };
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      clear(reduction.op, ReduceOp(reduction.op).getKind(), vector);
    for (const KernelSchedule::Scan &scan : stage.scans)
      clear(scan.op, CumulativeOp(scan.op).getKind(), 1);
  }

  void storeScan(const KernelSchedule::Scan &scan, Value accumulator) {
    CumulativeOp op = scan.op;
    emitter.store(outputs[scan.output], op.getType(), scan.operandIndex,
                  ElementEmitter::round(b, loc, op.getType().getElementType(), accumulator));
  }

  //===--------------------------------------------------------------------===//
  // Flat
  //===--------------------------------------------------------------------===//

  int64_t rowExtent() const {
    int64_t extent = 1;
    for (int64_t size : schedule.rowShape)
      extent *= size;
    return extent;
  }

  void emitFlat(Value blockNumber) {
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

  //===--------------------------------------------------------------------===//
  // A thread a row
  //===--------------------------------------------------------------------===//

  /// Opens the loops of a domain; `emitBody` stands in the innermost one.
  void overDomain(const KernelSchedule::Domain &domain, size_t dim, llvm::function_ref<void()> emitBody) {
    if (dim == domain.shape.size())
      return emitBody();
    code.loop(emitter.emitConstant(0), emitter.emitConstant(domain.shape[dim]), emitter.emitConstant(1),
              [&](Value position) {
                emitter.bind(domain.vars[dim], position);
                overDomain(domain, dim + 1, emitBody);
              });
  }

  void emitThreadPerRow(Value blockNumber) {
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
              code.load(accumulators.lookup(reduction.op), accumulatorType(reduction.op), emitter.emitConstant(0)),
              emitter.getDepth()};
      }
    });
  }

  //===--------------------------------------------------------------------===//
  // A group of threads a row
  //===--------------------------------------------------------------------===//

  void emitGroupPerRow(Value blockNumber) {
    int64_t extent = rowExtent(), rows = mapping.rowsPerBlock;
    warp = code.divRem(thread, kWarpThreads, mapping.blockThreads).first;
    warpLane = code.divRem(thread, kWarpThreads, mapping.blockThreads).second;
    lane = rows == 1 ? thread : warpLane;
    Value row = rows == 1 ? blockNumber : code.add(code.mul(blockNumber, rows), warp);
    auto emitRow = [&] {
      Value last = code.bindOuter(row, schedule.rowVars, schedule.rowShape);
      if (last)
        emitter.bind(schedule.rowVars.back(), last);
      for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
        currentStage = number;
        emitStageOfGroup(stage);
        for (const KernelSchedule::Scan &scan : stage.scans)
          emitScanOfGroup(scan, schedule.domains[stage.domain]);
      }
    };
    // Rows of one block are whole warps: no barrier and no shuffle stands behind this condition for a part of a warp.
    if (extent % rows)
      code.ifThen(code.isLess(row, extent), emitRow);
    else
      code.inScope(emitRow);
  }

  void emitStageOfGroup(const KernelSchedule::Stage &stage) {
    const KernelSchedule::Domain &domain = schedule.domains[stage.domain];
    const GpuMapping::DomainMapping &inner = mapping.domains[stage.domain];
    bool hasStashes = llvm::any_of(keptValues, [&](const Kept &kept) { return kept.stage == currentStage; });
    if (stage.reductions.empty() && stage.stores.empty() && !hasStashes)
      return;
    int64_t groups = domain.getExtent() / inner.vector, threads = mapping.threadsPerRow;
    // What one thread of the row writes may lie where all of them read before.
    if (domain.getExtent() == 1 && !stage.stores.empty() && currentStage > 0)
      code.rowBarrier(threads);
    clearAccumulators(stage, inner.vector);
    // Group number `group` of the row, in round `round` of this thread.
    auto emitRound = [&](Value group, Value round) {
      Value last = code.bindOuter(code.mul(group, inner.vector), domain.vars, domain.shape);
      emitElements(stage, inner.vector, [&](int64_t v) -> Value {
        if (last)
          emitter.bind(domain.vars.back(), v ? code.add(last, emitter.emitConstant(v)) : last);
        return code.add(code.mul(round, inner.vector), emitter.emitConstant(v));
      });
    };
    if (inner.isUnrolled) {
      for (int64_t round = 0; round < inner.rounds; ++round) {
        Value group = code.add(lane, emitter.emitConstant(round * threads));
        Value number = emitter.emitConstant(round);
        auto emitHere = [&] { emitRound(group, number); };
        if ((round + 1) * threads > groups)
          code.ifThen(code.isLess(group, groups), emitHere);
        else
          code.inScope(emitHere);
      }
    } else {
      code.loop(emitter.emitConstant(0), emitter.emitConstant(inner.rounds), emitter.emitConstant(1), [&](Value round) {
        Value group = code.add(code.mul(round, threads), lane);
        auto emitHere = [&] { emitRound(group, round); };
        if (groups % threads)
          code.ifThen(code.isLess(group, groups), emitHere);
        else
          code.inScope(emitHere);
      });
    }
    reduceOverGroup(stage, inner.vector);
  }

  /// The sums of the threads of a row: neighbours, then the warp, then the warps. Each lane takes the sum of one warp,
  /// again and again where there are fewer, and a butterfly adds them up: one value is alive for each reduction,
  /// however many warps there are.
  void reduceOverGroup(const KernelSchedule::Stage &stage, int64_t vector) {
    int64_t warps = mapping.threadsPerRow / kWarpThreads;
    SmallVector<Value> values, shared;
    for (const KernelSchedule::Reduction &reduction : stage.reductions) {
      ReduceOp op = reduction.op;
      Type type = op.getType().getElementType();
      SmallVector<Value> sums;
      for (int64_t v = 0; v < vector; ++v)
        sums.push_back(code.load(accumulators.lookup(op), accumulatorType(op), emitter.emitConstant(v)));
      for (size_t count = sums.size(); count > 1; count /= 2)
        for (size_t i = 0; i < count / 2; ++i)
          sums[i] = ElementEmitter::combine(b, loc, type, op.getKind(), sums[i], sums[i + count / 2], false);
      values.push_back(code.reduceWarp(type, op.getKind(), sums[0]));
    }
    if (warps > 1 && !values.empty()) {
      for (const KernelSchedule::Reduction &reduction : stage.reductions)
        shared.push_back(code.allocateShared(accumulatorType(reduction.op), warps));
      Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, warpLane, emitter.emitConstant(0));
      code.ifThen(isFirst, [&] {
        for (auto [reduction, memory, value] : llvm::zip(stage.reductions, shared, values))
          code.store(memory, accumulatorType(reduction.op), warp, value);
      });
      code.barrier();
      Value place = code.divRem(warpLane, warps, kWarpThreads).second;
      for (auto [reduction, memory, value] : llvm::zip(stage.reductions, shared, values)) {
        ReduceOp op = reduction.op;
        Type type = op.getType().getElementType();
        value = code.reduceWarp(type, op.getKind(), code.load(memory, accumulatorType(op), place), warps);
      }
    }
    for (auto [reduction, value] : llvm::zip(stage.reductions, values))
      rowValues[reduction.op] = {value, emitter.getDepth()};
  }

  /// A scan in rounds of one element a thread: within warps by shuffles, over warps through shared memory, and what
  /// the rounds before leave is carried along.
  void emitScanOfGroup(const KernelSchedule::Scan &scan, const KernelSchedule::Domain &domain) {
    CumulativeOp op = scan.op;
    Type type = op.getType().getElementType(), wide = accumulatorType(op);
    int64_t extent = domain.getExtent(), threads = mapping.threadsPerRow, warps = threads / kWarpThreads;
    Value carry = accumulators.lookup(op), zero = emitter.emitConstant(0);
    Value totals = warps > 1 ? code.allocateShared(wide, warps) : Value();
    auto combine = [&](Value x, Value y) {
      return ElementEmitter::combine(b, loc, type, op.getKind(), x, y, /*mayReorder=*/false);
    };
    auto select = [&](Value condition, Value x, Value y) -> Value {
      return b.create<arith::SelectOp>(loc, condition, x, y);
    };
    clearScan(op, carry);
    Value rounds = emitter.emitConstant((extent + threads - 1) / threads);
    code.loop(zero, rounds, emitter.emitConstant(1), [&](Value round) {
      Value element = code.add(code.mul(round, threads), lane);
      auto bindElement = [&] {
        Value last = code.bindOuter(element, domain.vars, domain.shape);
        if (last)
          emitter.bind(domain.vars.back(), last);
        // Stashes of this domain were written in the same rounds where it is not cut in vectors: it never is.
        beginElement(round);
      };
      Value before = code.load(carry, wide, zero);
      // The carry's place holds the element meanwhile: a value from behind a condition.
      clearScan(op, carry);
      Value isInside = code.isLess(element, extent);
      code.ifThen(isInside, [&] {
        bindElement();
        Value value = emitter.emit(op.getOperand(), scan.operandIndex);
        code.store(carry, wide, emitter.emitConstant(0), value);
      });
      Value sum = code.load(carry, wide, zero);
      for (int64_t offset = 1; offset < kWarpThreads; offset *= 2) {
        Value left = code.shuffle(sum, gpu::ShuffleMode::UP, offset);
        sum = select(code.isLess(warpLane, offset), sum, combine(left, sum));
      }
      Value after = before;
      if (warps > 1) {
        Value isLast =
            b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, warpLane, emitter.emitConstant(kWarpThreads - 1));
        code.ifThen(isLast, [&] { code.store(totals, wide, warp, sum); });
        code.barrier();
        for (int64_t w = 0; w < warps; ++w) {
          before = select(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, warp, emitter.emitConstant(w)), after,
                          before);
          after = combine(after, code.load(totals, wide, emitter.emitConstant(w)));
        }
        code.barrier();
      } else {
        after = combine(before, code.shuffle(sum, gpu::ShuffleMode::IDX, kWarpThreads - 1));
      }
      Value result = combine(before, sum);
      code.store(carry, wide, zero, after);
      code.ifThen(isInside, [&] {
        bindElement();
        storeScan(scan, result);
      });
    });
  }

  void clearScan(CumulativeOp op, Value memory) {
    code.store(memory, accumulatorType(op), emitter.emitConstant(0),
               ElementEmitter::identity(b, loc, op.getType().getElementType(), op.getKind()));
  }

  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  void emitTiles(Value blockNumber) {
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

  plan::KernelOp kernel;
  KernelSchedule schedule;
  KernelBody body;
  GpuMapping mapping;
  gpu::GPUModuleOp target;
  Location loc;
  OpBuilder b;
  ElementEmitter emitter;
  GpuCode code;

  Value thread, lane, warp, warpLane, coordinates;
  llvm::DenseMap<Value, Value> pointers;
  SmallVector<Value> outputs;
  std::vector<Kept> keptValues;
  llvm::DenseMap<Operation *, Value> accumulators;
  llvm::DenseMap<Operation *, Emitted> rowValues;
  unsigned currentStage = 0;
  /// The scope in which the current element's index is known, and where its stashes lie.
  unsigned elementDepth = 0;
  Value slot;
  bool readsTiles = false;
};

} // namespace

LogicalResult emitGpuKernel(plan::KernelOp kernel, gpu::GPUModuleOp target) {
  if (!kernel->hasAttr(kBlockThreadsAttrName))
    return kernel.emitError() << "kernel '" << kernel.getSymName()
                              << "' is not mapped to a GPU's threads; begin at the station 'partitioned' or before";
  FailureOr<KernelSchedule> schedule = KernelSchedule::compute(kernel);
  if (failed(schedule))
    return kernel.emitError() << "kernel '" << kernel.getSymName() << "' has no common loops";
  GpuKernelEmitter(kernel, std::move(*schedule), target).run();
  return success();
}

} // namespace spmdc
