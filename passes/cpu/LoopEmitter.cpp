//===- LoopEmitter.cpp - loops of a kernel for a CPU ----------------------===//

#include "passes/cpu/LoopEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

LoopEmitter::Loop LoopEmitter::open(Value low, Value high, int64_t step, ValueRange initial, bool isParallel) {
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

ValueRange LoopEmitter::close(Loop &loop, ValueRange next) {
  emitter.moveTo(emitter.getDepth());
  Value following = b.create<arith::AddIOp>(loc, loop.iv, loop.step, arith::IntegerOverflowFlags::nsw);
  SmallVector<Value> values{following};
  llvm::append_range(values, next);
  auto latch = b.create<LLVM::BrOp>(loc, values, loop.header);
  MLIRContext *context = b.getContext();
  if (loop.group) {
    LLVM::LoopVectorizeAttr vectorize;
    if (loop.isMasked)
      vectorize =
          LLVM::LoopVectorizeAttr::get(context, {}, /*predicateEnable=*/b.getBoolAttr(true), {}, {}, {}, {}, {});
    LLVM::LoopInterleaveAttr interleave;
    LLVM::LoopUnrollAttr unroll;
    if (loop.isCompact) {
      interleave = LLVM::LoopInterleaveAttr::get(context, b.getI32IntegerAttr(1));
      unroll = LLVM::LoopUnrollAttr::get(context, b.getBoolAttr(true), {}, {}, {}, {}, {}, {});
    }
    latch.setLoopAnnotationAttr(LLVM::LoopAnnotationAttr::get(context, {}, vectorize, interleave, unroll, {}, {}, {},
                                                              {}, {}, {}, {}, {}, {}, {}, loop.group));
  } else if (loop.isPlain) {
    // Loops over rows: the same instructions compute all rows, or the order of additions could depend on the position
    // of a row in the range. Loops around vector loops: unrolling takes long and gains nothing.
    BoolAttr yes = b.getBoolAttr(true);
    auto vectorize = LLVM::LoopVectorizeAttr::get(context, yes, {}, {}, {}, {}, {}, {});
    auto unroll = LLVM::LoopUnrollAttr::get(context, yes, {}, {}, {}, {}, {}, {});
    latch.setLoopAnnotationAttr(
        LLVM::LoopAnnotationAttr::get(context, {}, vectorize, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}));
  }
  groups.pop_back();
  emitter.popScope(loop.exit);
  return loop.exit->getArguments();
}

void LoopEmitter::ifThen(Value condition, llvm::function_ref<void()> onTrue, llvm::function_ref<void()> onFalse) {
  Block *front = emitter.getBlock();
  Region *region = front->getParent();
  Block *behind = b.createBlock(region, region->end());
  Block *yes = b.createBlock(region, region->end()), *no = onFalse ? b.createBlock(region, region->end()) : behind;
  b.setInsertionPointToEnd(front);
  b.create<LLVM::CondBrOp>(loc, condition, yes, no);
  auto branch = [&](Block *block, llvm::function_ref<void()> emitBody, Block *next) {
    emitter.pushScope(block);
    emitBody();
    emitter.moveTo(emitter.getDepth());
    b.create<LLVM::BrOp>(loc, ValueRange(), behind);
    emitter.popScope(next);
  };
  // Each branch starts from the scope before the conditional.
  branch(yes, onTrue, onFalse ? front : behind);
  if (onFalse)
    branch(no, onFalse, behind);
}

void LoopEmitter::annotate(Operation *access) {
  if (groups.empty() || !groups.back())
    return;
  cast<LLVM::AccessGroupOpInterface>(access).setAccessGroups(b.getArrayAttr({groups.back()}));
}

SmallVector<LoopEmitter::Loop> LoopEmitter::openDomain(const KernelSchedule::Domain &domain,
                                                       SmallVector<Value> &carried, bool isParallel) {
  SmallVector<Loop> loops;
  for (size_t d = 0; d < domain.shape.size(); ++d) {
    bool isInnermost = d + 1 == domain.shape.size();
    loops.push_back(
        open(emitter.emitConstant(0), emitter.emitConstant(domain.shape[d]), 1, carried, isParallel && isInnermost));
    emitter.bind(domain.vars[d], loops.back().iv);
    carried = loops.back().carried;
  }
  return loops;
}

void LoopEmitter::closeDomain(SmallVector<Loop> &loops, SmallVector<Value> &carried) {
  for (Loop &loop : llvm::reverse(loops))
    carried = SmallVector<Value>(close(loop, carried));
}

void LoopEmitter::bindRow(Value row, ArrayRef<IndexExpr> vars, ArrayRef<int64_t> shape) {
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

} // namespace spmdc
