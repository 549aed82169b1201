//===- PtxThreadsHelper.cpp - control flow, and threads that meet ---------===//
//
// By the PTX ISA, "Control Flow Instructions" and "Parallel Synchronization and Communication Instructions". The
// functions are those of GpuInstructionsHelper.h.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/emulator/GpuInstructionsHelper.h"
#include "tests/passes/gpu/emulator/PtxCodeHelper.h"

#include "llvm/ADT/StringSwitch.h"

namespace spmdc {
namespace {

using llvm::StringRef;
using llvm::Value;
using Threads = GpuInstructions;

bool trap(PtxCode &code) {
  code.check(code.b.getFalse(), code.b.getInt64(0));
  code.b.CreateUnreachable();
  return code.operandCount() == 0;
}

/// bar.sync 0, bar.warp.sync MASK, barrier.cluster.arrive, also .relaxed, and wait.
bool synchronize(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  if (code.take("warp") && code.take("sync")) {
    Value *mask = code.operandCount() == 1 ? code.read(0, b.getInt32Ty()) : nullptr;
    return mask && code.call(&Threads::waitForWarp, b.getVoidTy(), {mask});
  }
  code.take("aligned");
  code.takeOf({"acquire", "release"});
  if (code.take("cluster")) {
    bool isArrival = code.take("arrive"), isRelaxed = isArrival && code.take("relaxed");
    if (code.operandCount() != 0 || (!isArrival && !code.take("wait")))
      return false;
    if (isArrival)
      code.call(&Threads::arriveAtCluster, b.getVoidTy(), {b.getInt32(isRelaxed)});
    else
      code.call(&Threads::waitForCluster, b.getVoidTy(), {});
    return true;
  }
  // All threads of a block have one barrier.
  bool isFirst =
      code.operandCount() == 1 && code.operand(0).kind == PtxOperand::Kind::Integer && code.operand(0).integer == 0;
  if (!code.take("sync") || !isFirst)
    return false;
  code.call(&Threads::waitAtBarrier, b.getVoidTy(), {});
  return true;
}

/// shfl.sync.MODE.b32 d[|p], a, b, c, mask
bool shuffle(PtxCode &code) {
  using Kind = GpuBlock::ShuffleKind;
  llvm::IRBuilder<> &b = code.b;
  PtxType type = code.takeType();
  bool isSync = code.take("sync");
  StringRef mode = code.takeOf({"bfly", "idx", "up", "down"});
  if (!isSync || mode.empty() || type.bits != 32 || code.operandCount() != 5)
    return false;
  Kind kind = llvm::StringSwitch<Kind>(mode)
                  .Case("bfly", Kind::Butterfly)
                  .Case("idx", Kind::Index)
                  .Case("up", Kind::Up)
                  .Default(Kind::Down);
  std::vector<Value *> values = {b.getInt32(static_cast<int32_t>(kind))};
  for (size_t i = 1; i < 5; ++i) {
    values.push_back(code.read(i, b.getInt32Ty()));
    if (!values.back())
      return false;
  }
  // The result, and above it whether the lane is inside.
  Value *both = code.call(&Threads::shuffle, b.getInt64Ty(), values);
  Value *result = b.CreateTrunc(both, b.getInt32Ty());
  const PtxOperand &target = code.operand(0);
  if (target.kind != PtxOperand::Kind::Pair)
    return code.write(target, result);
  return code.write(target.elements[0], result) &&
         code.write(target.elements[1], b.CreateTrunc(b.CreateLShr(both, 32), b.getInt1Ty()));
}

/// vote.sync.MODE.TYPE d, [!]a, mask
bool vote(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  PtxType type = code.takeType();
  bool isSync = code.take("sync");
  StringRef mode = code.takeOf({"any", "all", "ballot"});
  if (!isSync || mode.empty() || code.operandCount() != 3 || (mode == "ballot") != (type.bits == 32))
    return false;
  Value *condition = code.read(1, b.getInt1Ty()), *mask = code.read(2, b.getInt32Ty());
  if (!condition || !mask)
    return false;
  Value *ballot = code.call(&Threads::vote, b.getInt32Ty(), {b.CreateZExt(condition, b.getInt32Ty()), mask});
  if (mode == "ballot")
    return code.write(code.operand(0), ballot);
  Value *all = code.call(&Threads::readWarpMask, b.getInt32Ty(), {});
  return code.write(code.operand(0),
                    mode == "any" ? b.CreateICmpNE(ballot, b.getInt32(0)) : b.CreateICmpEQ(ballot, all));
}

/// Memory is the same for all threads at once, so it matters to GpuRaces alone.
bool fence(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  if (code.take("proxy")) {
    bool isAsync = code.take("async");
    StringRef space = code.takeOf({"shared::cta", "global"});
    if (isAsync && space != "global")
      code.call(&Threads::publish, b.getVoidTy(), {});
    return isAsync && code.operandCount() == 0;
  }
  code.takeOf({"sc", "acq_rel"});
  StringRef scope = code.takeOf({"cta", "cluster", "gpu", "gl", "sys"});
  code.call(&Threads::fence, b.getVoidTy(), {b.getInt32(scope == "cta")});
  return !scope.empty() && code.operandCount() == 0;
}

/// mapa: the generic address of the same shared memory in another block of the cluster.
bool mapAddress(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  PtxType type = code.takeType();
  if (type.bits != 64 || code.operandCount() != 3)
    return false;
  Value *address = code.read(1, b.getInt64Ty()), *rank = code.read(2, b.getInt32Ty());
  if (!address || !rank)
    return false;
  Value *mapped = code.call(&Threads::mapAddress, b.getPtrTy(), {b.CreateIntToPtr(address, b.getPtrTy()), rank});
  return code.write(code.operand(0), b.CreatePtrToInt(mapped, b.getInt64Ty()));
}

/// Arrivals and waits are atomic, unlike mbarrier.init. They order by their phase, not by a value.
constexpr GpuAccess kUsesBarrier{.reads = true, .isAtomic = true};

/// The pointer to the 8 bytes of a barrier with phases; null after an error.
Value *barrierOf(PtxCode &code, const PtxOperand &operand, const GpuAccess &how) {
  PtxCode::Address address = code.address(operand);
  return address.value ? code.checkedPointer("shared", address.value, 8, how) : nullptr;
}

/// mbarrier.init, arrive and try_wait.parity.
bool usePhases(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  PtxType type = code.takeType();
  if (type.bits != 64 || code.takeOf({"shared", "shared::cta"}).empty())
    return false;
  if (code.take("init")) {
    Value *barrier = barrierOf(code, code.operand(0), {.writes = true}), *count = code.read(1, b.getInt32Ty());
    return barrier && count && code.operandCount() == 2 &&
           code.call(&Threads::prepareBarrier, b.getVoidTy(), {barrier, count});
  }
  if (code.take("arrive")) {
    Value *barrier = code.operandCount() == 2 ? barrierOf(code, code.operand(1), kUsesBarrier) : nullptr;
    return barrier && code.write(code.operand(0), code.call(&Threads::arriveAtBarrier, b.getInt64Ty(), {barrier}));
  }
  if (code.take("try_wait") && code.take("parity")) {
    Value *barrier = code.operandCount() == 3 ? barrierOf(code, code.operand(1), kUsesBarrier) : nullptr;
    Value *parity = code.read(2, b.getInt32Ty());
    if (!barrier || !parity)
      return false;
    // The thread waits until the phase is complete.
    code.call(&Threads::waitForPhase, b.getVoidTy(), {barrier, parity});
    return code.write(code.operand(0), b.getTrue());
  }
  return false;
}

/// cp.async of 16 bytes, and waits for it.
bool copyAsynchronously(PtxCode &code) {
  llvm::IRBuilder<> &b = code.b;
  if (!code.take("async"))
    return false;
  if (code.take("mbarrier")) {
    bool isKnown = code.take("arrive") && code.take("noinc") && !code.takeOf({"shared", "shared::cta"}).empty() &&
                   code.takeType().bits == 64 && code.operandCount() == 1;
    Value *barrier = isKnown ? barrierOf(code, code.operand(0), kUsesBarrier) : nullptr;
    return barrier && code.call(&Threads::arriveWithCopies, b.getVoidTy(), {barrier});
  }
  if (code.take("commit_group"))
    return code.operandCount() == 0 && code.call(&Threads::commitCopies, b.getVoidTy(), {});
  if (code.take("wait_all")) // Commits, and waits for all groups.
    return code.operandCount() == 0 && code.call(&Threads::commitCopies, b.getVoidTy(), {}) &&
           code.call(&Threads::finishCopies, b.getVoidTy(), {b.getInt32(0)});
  if (code.take("wait_group")) {
    Value *pending = code.operandCount() == 1 ? code.read(0, b.getInt32Ty()) : nullptr;
    return pending && code.call(&Threads::finishCopies, b.getVoidTy(), {pending});
  }
  bool isKnown = !code.takeOf({"ca", "cg"}).empty() && !code.takeOf({"shared", "shared::cta"}).empty() &&
                 code.take("global") && (code.operandCount() == 3 || code.operandCount() == 4);
  if (!isKnown || code.operand(2).integer != GpuCopy::kBytes)
    return false;
  PtxCode::Address target = code.address(code.operand(0)), source = code.address(code.operand(1));
  Value *bytes = code.operandCount() == 4 ? code.read(3, b.getInt32Ty()) : b.getInt32(GpuCopy::kBytes);
  if (!target.value || !source.value || !bytes)
    return false;
  Value *to = code.checkedPointer("shared", target.value, GpuCopy::kBytes);
  // A part of the source may be outside of its buffer if it is not copied; its begin is aligned all the same.
  Value *isAligned = b.CreateICmpEQ(b.CreateAnd(source.value, b.getInt64(GpuCopy::kBytes - 1)), b.getInt64(0));
  code.check(isAligned, source.value);
  code.checkCopy(source.value, bytes);
  return code.call(&Threads::startCopy, b.getVoidTy(),
                   {to, b.CreateIntToPtr(source.value, b.getPtrTy()), bytes, b.getInt32(code.currentSite())});
}

} // namespace

Value *PtxCode::readSpecial(const std::string &name) {
  using Special = int32_t (*)();
  auto function = llvm::StringSwitch<Special>(name)
                      .Case("%tid.x", &Threads::readThread)
                      .Case("%ntid.x", &Threads::readBlockThreads)
                      .Case("%ctaid.x", &Threads::readBlock)
                      .Case("%nctaid.x", &Threads::readGridBlocks)
                      .Case("%laneid", &Threads::readLane)
                      .Cases("%cluster_ctarank", "%cluster_ctaid.x", &Threads::readClusterRank)
                      .Cases("%cluster_nctarank", "%cluster_nctaid.x", &Threads::readClusterBlocks)
                      .Default(nullptr);
  if (function)
    return call(function, b.getInt32Ty(), {});
  if (name == "%globaltimer")
    return call(&Threads::readTime, b.getInt64Ty(), {});
  // Grids and blocks have one dimension.
  if (name == "%tid.y" || name == "%tid.z" || name == "%ctaid.y" || name == "%ctaid.z")
    return b.getInt32(0);
  return nullptr;
}

PtxFamily findThreadFamily(StringRef opcode) {
  return llvm::StringSwitch<PtxFamily>(opcode)
      .Case("bra", [](PtxCode &code) { return code.branch(); })
      .Cases("ret", "exit", [](PtxCode &code) { return code.leave(); })
      .Case("call", [](PtxCode &code) { return code.callFunction(); })
      .Case("trap", trap)
      .Cases("bar", "barrier", synchronize)
      .Case("shfl", shuffle)
      .Case("vote", vote)
      .Cases("fence", "membar", fence)
      .Case("mapa", mapAddress)
      .Case("mbarrier", usePhases)
      .Case("cp", copyAsynchronously)
      .Default(nullptr);
}

} // namespace spmdc
