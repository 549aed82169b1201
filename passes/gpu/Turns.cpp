//===- Turns.cpp - the warpgroups of a block start products by turns ------===//

#include "passes/gpu/Turns.h"

#include "passes/kernel/StreamTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

Value Turns::barrierOf(Value number) {
  Value start = code.getLaunchShared(offset);
  return b.create<LLVM::GEPOp>(loc, start.getType(), b.getI64Type(), start, ArrayRef<LLVM::GEPArg>{number},
                               /*inbounds=*/true);
}

void Turns::initialize() {
  for (int64_t number = 0; number < groups; ++number)
    Phases(b, loc).initialize(barrierOf(emitter.emitConstant(number)), kWarpgroupWarps);
}

void Turns::take(Value turn) {
  // Phase n of a warpgroup's barrier is the end of turn n of the warpgroup before it. The first one begins, so its turn
  // n follows turn n - 1 of the last; its turn 0 waits for nothing.
  Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, group, emitter.emitConstant(0));
  Value phase = code.add(turn, b.create<arith::ExtUIOp>(loc, b.getI64Type(), isFirst));
  Phases(b, loc).wait(barrierOf(group), code.divRem(phase, 2, INT32_MAX).second);
}

void Turns::pass() {
  Value next = code.divRem(code.add(group, emitter.emitConstant(1)), groups, groups + 1).second;
  Phases(b, loc).arriveIf(isFirstLane, barrierOf(next));
}

} // namespace spmdc
