//===- KernelEmitter.cpp - the loops of a kernel for a CPU ----------------===//
//
// One function per kernel loads the buffers' addresses and calls an inner one, always inlined, whose parameters say
// which buffers cannot overlap. A buffer that the plan may reuse for an output (passes/kernel/Overwrites.h) says
// nothing; that such loops carry nothing from one iteration to the next is said on the loops (access groups), so that
// LLVM vectorises without run-time checks, and the bits of a row never depend on where buffers lie.
//
// Reductions are loop-carried values whose additions may be reordered: the vectoriser makes a fixed tree of them, the
// same for every row and every split of the range.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/KernelEmitter.h"

#include "passes/kernel/ElementEmitter.h"
#include "passes/kernel/Overwrites.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace spmdc {
namespace {

using Lanes = KernelSchedule::Lanes;

class CpuKernelEmitter {
public:
  CpuKernelEmitter(plan::KernelOp kernel, KernelSchedule schedule, ModuleOp target)
      : kernel(kernel), schedule(std::move(schedule)), body(KernelBody::of(kernel)), target(target),
        loc(kernel.getLoc()), b(kernel.getContext()),
        emitter(b, loc, body, this->schedule,
                {[this](Value input) { return pointers.lookup(input); }, [this](ReduceOp op) { return rowValue(op); },
                 [this](Value value, ArrayRef<IndexExpr> index) { return readStash(value, index); },
                 [this](OpBuilder &builder, unsigned axis) { return loadCoordinate(builder, axis); },
                 [this](Operation *access) { annotate(access); }}) {}

  void run() {
    Type i64 = b.getI64Type(), pointer = LLVM::LLVMPointerType::get(b.getContext());
    Block &block = kernel.getBlock();
    SmallVector<Type> innerTypes{i64, i64, pointer};
    size_t buffers = block.getNumArguments() + body.outputs.size();
    innerTypes.append(buffers, pointer);
    Type none = LLVM::LLVMVoidType::get(b.getContext());
    b.setInsertionPointToEnd(target.getBody());
    auto outer = b.create<LLVM::LLVMFuncOp>(loc, kernel.getSymName(),
                                            LLVM::LLVMFunctionType::get(none, {i64, i64, pointer, pointer}));
    auto inner = b.create<LLVM::LLVMFuncOp>(loc, (kernel.getSymName() + ".loops").str(),
                                            LLVM::LLVMFunctionType::get(none, innerTypes), LLVM::Linkage::Internal);
    inner.setPassthroughAttr(b.getArrayAttr({b.getStringAttr("alwaysinline"), b.getStringAttr("nounwind")}));
    outer.setPassthroughAttr(b.getArrayAttr({b.getStringAttr("nounwind")}));
    emitOuter(outer, inner, buffers);
    describeArguments(inner);
    emitInner(inner);
  }

private:
  void emitOuter(LLVM::LLVMFuncOp outer, LLVM::LLVMFuncOp inner, size_t buffers) {
    Block *entry = outer.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    SmallVector<Value> arguments{entry->getArgument(0), entry->getArgument(1), entry->getArgument(3)};
    for (size_t i = 0; i < buffers; ++i) {
      Value address = b.create<LLVM::GEPOp>(loc, pointer, pointer, entry->getArgument(2),
                                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)}, /*inbounds=*/true);
      arguments.push_back(b.create<LLVM::LoadOp>(loc, pointer, address));
    }
    b.create<LLVM::CallOp>(loc, inner, arguments);
    b.create<LLVM::ReturnOp>(loc, ValueRange());
  }

  void describeArguments(LLVM::LLVMFuncOp inner) {
    Block &block = kernel.getBlock();
    unsigned first = 3, outputs = first + block.getNumArguments();
    SmallVector<bool> overlaps(outputs + body.outputs.size());
    for (BlockArgument input : block.getArguments())
      for (size_t number = 0; number < body.outputs.size(); ++number)
        if (canOverwrite(kernel, input.getArgNumber(), number))
          overlaps[first + input.getArgNumber()] = overlaps[outputs + number] = true;
    UnitAttr unit = b.getUnitAttr();
    auto set = [&](unsigned argument, StringRef name, Attribute value) { inner.setArgAttr(argument, name, value); };
    set(2, LLVM::LLVMDialect::getNoAliasAttrName(), unit);
    set(2, LLVM::LLVMDialect::getReadonlyAttrName(), unit);
    for (unsigned argument = first; argument < overlaps.size(); ++argument) {
      if (!overlaps[argument])
        set(argument, LLVM::LLVMDialect::getNoAliasAttrName(), unit);
      if (argument < outputs)
        set(argument, LLVM::LLVMDialect::getReadonlyAttrName(), unit);
    }
  }

  void emitInner(LLVM::LLVMFuncOp inner) {
    Block *entry = inner.addEntryBlock(b);
    begin = entry->getArgument(0);
    end = entry->getArgument(1);
    coordinates = entry->getArgument(2);
    for (BlockArgument input : kernel.getBlock().getArguments())
      pointers[input] = entry->getArgument(3 + input.getArgNumber());
    for (size_t i = 0; i < body.outputs.size(); ++i)
      outputs.push_back(entry->getArgument(3 + kernel.getBlock().getNumArguments() + i));
    b.setInsertionPointToStart(entry);
    allocate();
    emitter.pushScope(entry);
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
    b.create<LLVM::ReturnOp>(loc, ValueRange());
  }

  Value allocateArray(Type elementType, int64_t count) {
    Value size = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(count));
    Type memory = ElementEmitter::memoryType(elementType);
    return b.create<LLVM::AllocaOp>(loc, LLVM::LLVMPointerType::get(b.getContext()), memory, size, 64);
  }

  /// Row scratch: accumulators of rows side by side, and stashes.
  void allocate() {
    int64_t lanes = schedule.lanes == Lanes::Inner ? 1 : kRowBlock;
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      for (const KernelSchedule::Stash &stash : stage.stashes) {
        Type type = cast<ArrayType>(stash.value.getType()).getElementType();
        int64_t extent = schedule.domains[stage.domain].getExtent();
        stashes.push_back({&stash, static_cast<unsigned>(number), allocateArray(type, extent * lanes)});
      }
      if (schedule.lanes == Lanes::Inner)
        continue;
      for (const KernelSchedule::Reduction &reduction : stage.reductions)
        accumulators[reduction.op] = allocateArray(accumulatorType(reduction.op), lanes);
      for (const KernelSchedule::Scan &scan : stage.scans)
        accumulators[scan.op] = allocateArray(accumulatorType(scan.op), lanes);
    }
  }

  /// Half precision accumulates in f32.
  static Type accumulatorType(Operation *op) {
    Type type = cast<ArrayType>(op->getResult(0).getType()).getElementType();
    return isa<FloatType>(type) ? ElementEmitter::registerType(type) : type;
  }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  struct Loop {
    Block *header = nullptr, *exit = nullptr;
    Value iv, step;
    SmallVector<Value> carried;  ///< As the body sees them.
    LLVM::AccessGroupAttr group; ///< Of parallel loops: no iteration touches what another one writes.
    /// Stays a loop of single iterations.
    bool isPlain = false;
  };

  /// Opens a loop over [low, high); what is emitted next is its body.
  Loop openLoop(Value low, Value high, int64_t step, ValueRange initial = {}, bool isParallel = false) {
    Loop loop;
    loop.step = emitter.emitConstant(step);
    Region *region = emitter.getBlock()->getParent();
    SmallVector<Type> types{b.getI64Type()};
    llvm::append_range(types, initial.getTypes());
    SmallVector<Location> locs(types.size(), loc);
    loop.header = b.createBlock(region, region->end(), types, locs);
    Block *bodyBlock = b.createBlock(region, region->end());
    loop.exit =
        b.createBlock(region, region->end(), ArrayRef<Type>(types).drop_front(), ArrayRef<Location>(locs).drop_front());
    SmallVector<Value> entry{low};
    llvm::append_range(entry, initial);
    b.setInsertionPointToEnd(emitter.getBlock());
    b.create<LLVM::BrOp>(loc, entry, loop.header);
    b.setInsertionPointToEnd(loop.header);
    loop.iv = loop.header->getArgument(0);
    loop.carried.assign(loop.header->args_begin() + 1, loop.header->args_end());
    Value goesOn = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, loop.iv, high);
    b.create<LLVM::CondBrOp>(loc, goesOn, bodyBlock, ValueRange(), loop.exit, loop.carried);
    if (isParallel)
      loop.group = LLVM::AccessGroupAttr::get(b.getContext());
    groups.push_back(loop.group);
    emitter.pushScope(bodyBlock);
    return loop;
  }

  /// Closes it with the values for the next iteration; returns what the loop leaves.
  ValueRange closeLoop(Loop &loop, ValueRange next = {}) {
    emitter.moveTo(emitter.getDepth());
    Value following = b.create<arith::AddIOp>(loc, loop.iv, loop.step, arith::IntegerOverflowFlags::nsw);
    SmallVector<Value> values{following};
    llvm::append_range(values, next);
    auto latch = b.create<LLVM::BrOp>(loc, values, loop.header);
    MLIRContext *context = b.getContext();
    if (loop.group) {
      latch.setLoopAnnotationAttr(
          LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, loop.group));
    } else if (loop.isPlain) {
      // Rows: all are computed by the same instructions, or the order of additions could depend on where in the range a
      // row stands. Loops around vector loops: unrolling them takes long and gains nothing.
      BoolAttr yes = b.getBoolAttr(true);
      auto vectorize = LLVM::LoopVectorizeAttr::get(context, yes, {}, {}, {}, {}, {}, {});
      auto unroll = LLVM::LoopUnrollAttr::get(context, yes, {}, {}, {}, {}, {}, {});
      latch.setLoopAnnotationAttr(LLVM::LoopAnnotationAttr::get(context, {}, vectorize, {}, unroll, {}, {}, {}, {}, {},
                                                                {}, {}, {}, {}, {}, {}));
    }
    groups.pop_back();
    emitter.popScope(loop.exit);
    return loop.exit->getArguments();
  }

  void annotate(Operation *access) {
    if (groups.empty() || !groups.back())
      return;
    cast<LLVM::AccessGroupOpInterface>(access).setAccessGroups(b.getArrayAttr({groups.back()}));
  }

  /// Opens the loops of a domain, outermost first; `carried` goes through all of them.
  SmallVector<Loop> openDomain(const KernelSchedule::Domain &domain, SmallVector<Value> &carried, bool isParallel) {
    SmallVector<Loop> loops;
    for (size_t d = 0; d < domain.shape.size(); ++d) {
      bool isInnermost = d + 1 == domain.shape.size();
      loops.push_back(openLoop(emitter.emitConstant(0), emitter.emitConstant(domain.shape[d]), 1, carried,
                               isParallel && isInnermost));
      emitter.bind(domain.vars[d], loops.back().iv);
      carried = loops.back().carried;
    }
    return loops;
  }

  void closeDomain(SmallVector<Loop> &loops, SmallVector<Value> &carried) {
    for (Loop &loop : llvm::reverse(loops))
      carried = SmallVector<Value>(closeLoop(loop, carried));
  }

  void bindRow(Value row, ArrayRef<IndexExpr> vars, ArrayRef<int64_t> shape) {
    for (size_t d = shape.size(); d-- > 0;) {
      if (d == 0) {
        emitter.bind(vars[0], row);
        return;
      }
      Value size = emitter.emitConstant(shape[d]);
      emitter.bind(vars[d], b.create<arith::RemUIOp>(loc, row, size));
      row = b.create<arith::DivUIOp>(loc, row, size);
    }
  }

  //===--------------------------------------------------------------------===//
  // Scratch
  //===--------------------------------------------------------------------===//

  Value slotAddress(Value memory, Type elementType, Value position) {
    return b.create<LLVM::GEPOp>(loc, LLVM::LLVMPointerType::get(b.getContext()),
                                 ElementEmitter::memoryType(elementType), memory, ArrayRef<LLVM::GEPArg>{position},
                                 /*inbounds=*/true);
  }

  Value loadSlot(Value memory, Type elementType, Value position) {
    auto load = b.create<LLVM::LoadOp>(loc, ElementEmitter::memoryType(elementType),
                                       slotAddress(memory, elementType, position));
    annotate(load);
    return ElementEmitter::fromMemory(b, loc, elementType, load);
  }

  void storeSlot(Value memory, Type elementType, Value position, Value value) {
    auto store = b.create<LLVM::StoreOp>(loc, ElementEmitter::toMemory(b, loc, elementType, value),
                                         slotAddress(memory, elementType, position));
    annotate(store);
  }

  /// Position of the current element in a stash.
  Value stashPosition(unsigned stage) {
    const KernelSchedule::Domain &domain = schedule.domains[schedule.stages[stage].domain];
    IndexSpace &space = schedule.indexing->space;
    Value position = emitter.emitIndex(space.linearize(domain.vars, domain.shape));
    emitter.moveTo(loopDepth);
    if (!lane)
      return position;
    position = b.create<arith::MulIOp>(loc, position, emitter.emitConstant(kRowBlock));
    return b.create<arith::AddIOp>(loc, position, lane);
  }

  std::optional<ElementEmitter::Emitted> readStash(Value value, ArrayRef<IndexExpr> index) {
    for (const StashMemory &stash : stashes) {
      if (stash.stage >= currentStage || stash.stash->value != value ||
          ArrayRef<IndexExpr>(stash.stash->index) != index)
        continue;
      emitter.moveTo(loopDepth);
      Type type = cast<ArrayType>(value.getType()).getElementType();
      return ElementEmitter::Emitted{loadSlot(stash.memory, type, stashPosition(stash.stage)), loopDepth};
    }
    return std::nullopt;
  }

  ElementEmitter::Emitted rowValue(ReduceOp op) {
    if (schedule.lanes == Lanes::Inner)
      return rowValues.lookup(op);
    emitter.moveTo(loopDepth);
    return {loadSlot(accumulators.lookup(op), accumulatorType(op), lane), loopDepth};
  }

  Value loadCoordinate(OpBuilder &builder, unsigned axis) {
    Value address =
        builder.create<LLVM::GEPOp>(loc, LLVM::LLVMPointerType::get(builder.getContext()), builder.getI64Type(),
                                    coordinates, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(axis)}, /*inbounds=*/true);
    return builder.create<LLVM::LoadOp>(loc, builder.getI64Type(), address);
  }

  //===--------------------------------------------------------------------===//
  // Stages
  //===--------------------------------------------------------------------===//

  void emitStores(const KernelSchedule::Stage &stage) {
    // Everything is read before anything is written: an output may lie where an input of another one lies.
    for (const KernelSchedule::Stash &stash : stage.stashes)
      emitter.emit(stash.value, stash.index);
    for (const KernelSchedule::Store &store : stage.stores)
      emitter.emit(body.outputs[store.output], store.index);
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      emitter.emit(ReduceOp(reduction.op).getOperand(), reduction.operandIndex);
    for (const KernelSchedule::Scan &scan : stage.scans)
      emitter.emit(CumulativeOp(scan.op).getOperand(), scan.operandIndex);
    for (const StashMemory &stash : stashes) {
      if (stash.stage != currentStage)
        continue;
      Type type = cast<ArrayType>(stash.stash->value.getType()).getElementType();
      Value value = emitter.emit(stash.stash->value, stash.stash->index);
      storeSlot(stash.memory, type, stashPosition(stash.stage), value);
    }
    for (const KernelSchedule::Store &store : stage.stores) {
      Value output = body.outputs[store.output];
      Value value = emitter.emit(output, store.index);
      emitter.store(outputs[store.output], cast<ArrayType>(output.getType()), store.index, value);
    }
  }

  Value step(Operation *op, ReductionKind kind, Value accumulator, Value operand, ArrayRef<IndexExpr> index,
             bool mayReorder) {
    Type type = cast<ArrayType>(op->getResult(0).getType()).getElementType();
    return ElementEmitter::combine(b, loc, type, kind, accumulator, emitter.emit(operand, index), mayReorder);
  }

  Value identityOf(Operation *op, ReductionKind kind) {
    return ElementEmitter::identity(b, loc, cast<ArrayType>(op->getResult(0).getType()).getElementType(), kind);
  }

  void storeScan(const KernelSchedule::Scan &scan, Value accumulator) {
    CumulativeOp op = scan.op;
    Type type = op.getType().getElementType();
    emitter.store(outputs[scan.output], op.getType(), scan.operandIndex,
                  ElementEmitter::round(b, loc, type, accumulator));
  }

  /// One row: accumulators are loop-carried values.
  void emitStageOfRow(const KernelSchedule::Stage &stage) {
    SmallVector<Value> carried;
    for (const KernelSchedule::Reduction &reduction : stage.reductions)
      carried.push_back(identityOf(reduction.op, ReduceOp(reduction.op).getKind()));
    for (const KernelSchedule::Scan &scan : stage.scans)
      carried.push_back(identityOf(scan.op, CumulativeOp(scan.op).getKind()));
    SmallVector<Loop> loops = openDomain(schedule.domains[stage.domain], carried, /*isParallel=*/true);
    loopDepth = emitter.getDepth();
    emitStores(stage);
    size_t next = 0;
    for (const KernelSchedule::Reduction &reduction : stage.reductions) {
      ReduceOp op = reduction.op;
      carried[next] = step(op, op.getKind(), carried[next], op.getOperand(), reduction.operandIndex, true);
      ++next;
    }
    for (const KernelSchedule::Scan &scan : stage.scans) {
      CumulativeOp op = scan.op;
      carried[next] = step(op, op.getKind(), carried[next], op.getOperand(), scan.operandIndex, false);
      storeScan(scan, carried[next++]);
    }
    closeDomain(loops, carried);
    for (auto [reduction, value] : llvm::zip(stage.reductions, carried))
      rowValues[reduction.op] = {value, emitter.getDepth()};
  }

  void emitRowsOneByOne() {
    Loop rows = openLoop(begin, end, 1);
    rows.isPlain = true;
    bindRow(rows.iv, schedule.rowVars, schedule.rowShape);
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      currentStage = number;
      emitStageOfRow(stage);
    }
    closeLoop(rows);
  }

  /// Rows [base, base + count) side by side: accumulators lie in memory, one for each.
  void emitStageOfBlock(const KernelSchedule::Stage &stage, const IndexExpr &laneVar, Value base, Value count) {
    auto overLanes = [&](llvm::function_ref<void()> emitBody) {
      Loop lanes = openLoop(emitter.emitConstant(0), count, 1, {}, /*isParallel=*/true);
      lane = lanes.iv;
      loopDepth = emitter.getDepth();
      emitter.bind(laneVar, b.create<arith::AddIOp>(loc, base, lane, arith::IntegerOverflowFlags::nsw));
      emitBody();
      closeLoop(lanes);
      lane = {};
    };
    auto start = [&](Operation *op, ReductionKind kind) {
      storeSlot(accumulators.lookup(op), accumulatorType(op), lane, identityOf(op, kind));
    };
    if (!stage.reductions.empty() || !stage.scans.empty())
      overLanes([&] {
        for (const KernelSchedule::Reduction &reduction : stage.reductions)
          start(reduction.op, ReduceOp(reduction.op).getKind());
        for (const KernelSchedule::Scan &scan : stage.scans)
          start(scan.op, CumulativeOp(scan.op).getKind());
      });
    SmallVector<Value> carried;
    SmallVector<Loop> loops = openDomain(schedule.domains[stage.domain], carried, /*isParallel=*/false);
    for (Loop &loop : loops)
      loop.isPlain = true;
    overLanes([&] {
      emitStores(stage);
      auto accumulate = [&](Operation *op, ReductionKind kind, ArrayRef<IndexExpr> index) {
        Value memory = accumulators.lookup(op);
        Type type = accumulatorType(op);
        Value operand = emitter.emit(op->getOperand(0), index);
        Value sum = loadSlot(memory, type, lane);
        sum = ElementEmitter::combine(b, loc, cast<ArrayType>(op->getResult(0).getType()).getElementType(), kind, sum,
                                      operand, /*mayReorder=*/false);
        storeSlot(memory, type, lane, sum);
        return sum;
      };
      for (const KernelSchedule::Reduction &reduction : stage.reductions)
        accumulate(reduction.op, ReduceOp(reduction.op).getKind(), reduction.operandIndex);
      for (const KernelSchedule::Scan &scan : stage.scans)
        storeScan(scan, accumulate(scan.op, CumulativeOp(scan.op).getKind(), scan.operandIndex));
    });
    closeDomain(loops, carried);
  }

  void emitRowsSideBySide() {
    // The last row dimension runs over lanes; the others are walked around it.
    ArrayRef<int64_t> shape = schedule.rowShape;
    int64_t laneExtent = shape.empty() ? 1 : shape.back(),
            outerExtent = schedule.getExtent() / std::max<int64_t>(laneExtent, 1);
    IndexExpr laneVar = shape.empty() ? IndexExpr(0) : schedule.rowVars.back();
    bool isOneLoop = schedule.stages.size() == 1 && schedule.stages[0].reductions.empty() &&
                     schedule.stages[0].scans.empty() && schedule.domains[schedule.stages[0].domain].shape.empty();
    auto segment = [&](Value low, Value high) {
      if (isOneLoop) {
        currentStage = 0;
        Loop lanes = openLoop(low, high, 1, {}, /*isParallel=*/true);
        loopDepth = emitter.getDepth();
        emitter.bind(laneVar, lanes.iv);
        emitStores(schedule.stages[0]);
        closeLoop(lanes);
        return;
      }
      Loop blocks = openLoop(low, high, kRowBlock);
      blocks.isPlain = true;
      Value rest = b.create<arith::SubIOp>(loc, high, blocks.iv);
      Value count = b.create<arith::MinSIOp>(loc, rest, emitter.emitConstant(kRowBlock));
      for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
        currentStage = number;
        emitStageOfBlock(stage, laneVar, blocks.iv, count);
      }
      closeLoop(blocks);
    };
    if (outerExtent <= 1) {
      segment(begin, end);
      return;
    }
    Value lanes = emitter.emitConstant(laneExtent), zero = emitter.emitConstant(0), one = emitter.emitConstant(1);
    Value first = b.create<arith::DivUIOp>(loc, begin, lanes);
    Value last = b.create<arith::AddIOp>(loc, end, b.create<arith::SubIOp>(loc, lanes, one));
    last = b.create<arith::DivUIOp>(loc, last, lanes);
    Loop outer = openLoop(first, last, 1);
    outer.isPlain = true;
    bindRow(outer.iv, ArrayRef<IndexExpr>(schedule.rowVars).drop_back(), shape.drop_back());
    Value start = b.create<arith::MulIOp>(loc, outer.iv, lanes);
    Value low = b.create<arith::MaxSIOp>(loc, b.create<arith::SubIOp>(loc, begin, start), zero);
    Value high = b.create<arith::MinSIOp>(loc, b.create<arith::SubIOp>(loc, end, start), lanes);
    segment(low, high);
    closeLoop(outer);
  }

  void emitTiles() {
    // An iteration is a strip of the tiled row dimension, walked in squares.
    size_t tiled = schedule.tiledRow, rank = schedule.rowShape.size();
    SmallVector<int64_t> shape(schedule.rowShape.begin(), schedule.rowShape.end() - 1);
    int64_t rows = shape[tiled], columns = schedule.rowShape.back();
    shape[tiled] = (rows + kTileRows - 1) / kTileRows;
    Loop strips = openLoop(begin, end, 1);
    strips.isPlain = true;
    Value strip;
    Value rest = strips.iv;
    for (size_t d = rank - 1; d-- > 0;) {
      Value size = emitter.emitConstant(shape[d]);
      Value position = d ? b.create<arith::RemUIOp>(loc, rest, size).getResult() : rest;
      if (d)
        rest = b.create<arith::DivUIOp>(loc, rest, size);
      if (d == tiled)
        strip = position;
      else
        emitter.bind(schedule.rowVars[d], position);
    }
    Value side = emitter.emitConstant(kTileRows);
    Value firstRow = b.create<arith::MulIOp>(loc, strip, side);
    Value lastRow =
        b.create<arith::MinSIOp>(loc, b.create<arith::AddIOp>(loc, firstRow, side), emitter.emitConstant(rows));
    Loop squares = openLoop(emitter.emitConstant(0), emitter.emitConstant(columns), kTileRows);
    Value lastColumn =
        b.create<arith::MinSIOp>(loc, b.create<arith::AddIOp>(loc, squares.iv, side), emitter.emitConstant(columns));
    Loop rowLoop = openLoop(firstRow, lastRow, 1);
    emitter.bind(schedule.rowVars[tiled], rowLoop.iv);
    Loop columnLoop = openLoop(squares.iv, lastColumn, 1, {}, /*isParallel=*/true);
    loopDepth = emitter.getDepth();
    emitter.bind(schedule.rowVars.back(), columnLoop.iv);
    for (auto [number, stage] : llvm::enumerate(schedule.stages)) {
      currentStage = number;
      emitStores(stage);
    }
    closeLoop(columnLoop);
    closeLoop(rowLoop);
    closeLoop(squares);
    closeLoop(strips);
  }

  struct StashMemory {
    const KernelSchedule::Stash *stash;
    unsigned stage;
    Value memory;
  };

  plan::KernelOp kernel;
  KernelSchedule schedule;
  KernelBody body;
  ModuleOp target;
  Location loc;
  OpBuilder b;
  ElementEmitter emitter;

  Value begin, end, coordinates;
  llvm::DenseMap<Value, Value> pointers;
  SmallVector<Value> outputs;
  std::vector<StashMemory> stashes;
  llvm::DenseMap<Operation *, Value> accumulators;
  llvm::DenseMap<Operation *, ElementEmitter::Emitted> rowValues;
  /// Of the loops that are open, innermost last; null for loops whose iterations depend on one another.
  SmallVector<LLVM::AccessGroupAttr> groups;
  unsigned currentStage = 0;
  /// The scope of the innermost loop, and the row's number in its block where rows lie side by side.
  unsigned loopDepth = 0;
  Value lane;
};

} // namespace

LogicalResult emitCpuKernel(plan::KernelOp kernel, ModuleOp target) {
  if (kernel->hasAttr(kBlockThreadsAttrName))
    return kernel.emitError() << "kernel '" << kernel.getSymName()
                              << "' is mapped to a GPU's threads; begin at the station 'partitioned' or before";
  FailureOr<KernelSchedule> schedule = KernelSchedule::compute(kernel);
  if (failed(schedule))
    return kernel.emitError() << "kernel '" << kernel.getSymName() << "' has no common loops";
  CpuKernelEmitter(kernel, std::move(*schedule), target).run();
  return success();
}

} // namespace spmdc
