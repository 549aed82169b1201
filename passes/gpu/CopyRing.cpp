//===- CopyRing.cpp - copies and their readers, by mbarriers --------------===//

#include "passes/gpu/CopyRing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace spmdc {

Value CopyRing::addressOf(Kind kind, Value stage) {
  Value start = code.getLaunchShared(offset + (kind == Kind::Free ? stages * kBarrierBytes : 0));
  return b.create<LLVM::GEPOp>(loc, start.getType(), b.getI64Type(), start, ArrayRef<LLVM::GEPArg>{stage},
                               /*inbounds=*/true);
}

std::pair<Value, Value> CopyRing::barrierOf(Kind kind, Value use) {
  auto [round, stage] = code.divRem(use, stages, INT32_MAX);
  return {addressOf(kind, stage), round};
}

void CopyRing::initialize(int64_t threads, int64_t warps) {
  for (int64_t stage = 0; stage < stages; ++stage)
    for (auto [kind, count] : {std::pair(Kind::Arrived, threads), {Kind::Free, warps}})
      Phases(b, loc).initialize(addressOf(kind, emitter.emitConstant(stage)), count);
}

void CopyRing::waitForFree(Value use) {
  // A barrier that has seen no round counts as one whose odd rounds are complete: the first use waits for nothing.
  auto [barrier, round] = barrierOf(Kind::Free, use);
  Phases(b, loc).wait(barrier, code.divRem(code.add(round, emitter.emitConstant(1)), 2, INT32_MAX).second);
}

void CopyRing::announceCopies(Value use) {
  b.create<NVVM::CpAsyncMBarrierArriveSharedOp>(loc, barrierOf(Kind::Arrived, use).first, /*noinc=*/true);
}

void CopyRing::waitForCopies(Value use) {
  auto [barrier, round] = barrierOf(Kind::Arrived, use);
  Phases(b, loc).wait(barrier, code.divRem(round, 2, INT32_MAX).second);
}

void CopyRing::releaseIf(Value condition, Value use) {
  Phases(b, loc).arriveIf(condition, barrierOf(Kind::Free, use).first);
}

} // namespace spmdc
