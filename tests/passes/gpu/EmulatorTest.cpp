//===- EmulatorTest.cpp - errors that the GPU emulator finds --------------===//
//
// The other tests of this folder rely on the emulator, so it is checked on kernels written by hand, with one case for
// each kind of error that it finds. EmulatedInstructionsTest.cpp has the results of instructions.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/EmulatedKernelHelper.h"
#include "tests/passes/gpu/GpuProgramHelper.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

using namespace spmdc;
using testing::HasSubstr;

namespace {

/// The kernel's result for 0, 1, 2 ...; `problem` receives the emulator's error.
std::vector<int32_t> run(const std::string &body, int32_t threads, ThreadOrder order, std::string &problem) {
  GpuEmulator emulator(emulatedKernel(body), problem);
  std::vector<int32_t> numbers(threads);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (problem.empty())
    problem = emulator.launch("f", {.blockThreads = threads,
                                    .arguments = {numbers.data()},
                                    .order = order,
                                    .buffers = {{numbers.data(), numbers.size() * sizeof(int32_t)}}});
  return numbers;
}

std::string problemOf(const std::string &body, int32_t threads) {
  std::string problem;
  run(body, threads, ThreadOrder::forward(), problem);
  return problem;
}

/// True if the result is the same in every order of threads that tests use.
bool isSameInAllOrders(const std::string &body, int32_t threads) {
  std::string problem;
  std::vector<int32_t> expected = run(body, threads, ThreadOrder::forward(), problem);
  EXPECT_EQ(problem, "");
  for (ThreadOrder order : {ThreadOrder::backward(), ThreadOrder::shuffled(1), ThreadOrder::shuffled(2)})
    if (run(body, threads, order, problem) != expected)
      return false;
  return true;
}

} // namespace

TEST(GpuEmulator, BarrierThatOneThreadLeavesOut) {
  EXPECT_EQ(problemOf("@%first bra OUT;\n bar.sync 0;\n OUT: ret;", 64),
            "f: block 0: 63 threads wait at a barrier, 1 of 64 have ended");
}

TEST(GpuEmulator, ShuffleThatOneLaneLeavesOut) {
  EXPECT_EQ(problemOf("@%first bra OUT;\n shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;\n OUT: ret;", 32),
            "f: block 0: only 31 of the 32 threads from 0 on reach a warp operation");
}

TEST(GpuEmulator, ShuffleFromALaneThatDoesNotExist) {
  EXPECT_EQ(problemOf("shfl.sync.bfly.b32 %r1, %t, 16, 31, -1;", 24), "f: a shuffle from a lane that does not exist");
}

TEST(GpuEmulator, ShuffleOfHalfAWarp) {
  EXPECT_EQ(problemOf("shfl.sync.bfly.b32 %r1, %t, 1, 31, 65535;", 32),
            "f: block 0: thread 0: an operation of only some lanes of the warp, which this emulator does not know");
}

TEST(GpuEmulator, TextThatItDoesNotKnow) {
  auto at = [](int line) { return "line " + std::to_string(kEmulatedBodyLine + line) + ": "; };
  EXPECT_EQ(problemOf("mov.u32 %r1, 5;\nmatch.any.sync.b32 %r1, %t, -1;", 32),
            at(1) + "unknown instruction: match.any.sync.b32 %r1, %t, -1");
  EXPECT_EQ(problemOf("add.rn.relu.f32 %f1, %f1, %f2;", 32),
            at(0) + "unknown instruction: add.rn.relu.f32 %f1, %f1, %f2");
  EXPECT_EQ(problemOf("add.s32 %r1, %rd1, 1;", 32), at(0) + "an operand that is not of 32 bits: add.s32 %r1, %rd1, 1");
  EXPECT_EQ(problemOf("add.s32 %r1, %r99, 1;", 32), at(0) + "unknown name '%r99': add.s32 %r1, %r99, 1");
  EXPECT_EQ(problemOf("bra.uni NOWHERE;", 32), at(0) + "unknown label 'NOWHERE': bra.uni NOWHERE");
  EXPECT_EQ(problemOf(".branchtargets A;", 32), at(0) + "a name expected before '.branchtargets'");
  EXPECT_EQ(problemOf("mov.u32 %r1, %clock;", 32), at(0) + "unknown name '%clock': mov.u32 %r1, %clock");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST(GpuEmulator, AccessThatIsNotAligned) {
  std::string line = "f: block 0: thread 0: line " + std::to_string(kEmulatedBodyLine) + ": ";
  EXPECT_THAT(problemOf("ld.global.u32 %r1, [%p+2];", 32), HasSubstr(line + "ld.global.u32 %r1, [%p+2]: address 0x"));
  EXPECT_THAT(problemOf("ld.global.u32 %r1, [%p+2];", 32), HasSubstr("is not a multiple of 4"));
  // A vector has the alignment of all of it.
  EXPECT_EQ(problemOf("ld.shared.v2.u32 {%r1, %r2}, [shared+4];", 32),
            line + "ld.shared.v2.u32 {%r1, %r2}, [shared+4]: address 0x4 is not a multiple of 8");
  EXPECT_EQ(problemOf("ld.shared.v2.u32 {%r1, %r2}, [shared+8];", 32), "");
  EXPECT_THAT(problemOf("ld.u16 %h1, [%p+1];", 32), HasSubstr("is not a multiple of 2"));
  EXPECT_THAT(problemOf("st.local.u64 [local+4], %rd1;", 32), HasSubstr("is not a multiple of 8"));
}

TEST(GpuEmulator, AccessOutOfBounds) {
  std::string line = "f: block 0: thread 0: line " + std::to_string(kEmulatedBodyLine) + ": ";
  EXPECT_EQ(problemOf("st.global.u32 [%p+128], %t;", 32),
            line + "st.global.u32 [%p+128], %t: byte 128 of buffer 0, which has 128");
  EXPECT_EQ(problemOf("ld.global.u32 %r1, [%p+-4];", 32),
            line + "ld.global.u32 %r1, [%p+-4]: byte -4 of buffer 0, which has 128");
  EXPECT_EQ(problemOf("st.global.u32 [%p+124], %t;", 32), "");
  // The last bytes of an access count.
  EXPECT_EQ(problemOf("ld.global.u8 %h1, [%p+127];", 32), "");
  EXPECT_THAT(problemOf("mov.u64 %rd1, 0;\nld.u8 %h1, [%rd1];", 32), HasSubstr("is out of bounds"));
  EXPECT_EQ(problemOf("st.shared.u32 [shared+1024], %t;", 32),
            line + "st.shared.u32 [shared+1024], %t: address 0x400 is out of bounds");
  EXPECT_EQ(problemOf("st.shared.u32 [shared+1020], %t;", 32), "");
  EXPECT_THAT(problemOf("ld.shared.u32 %r1, [shared+-4];", 32), HasSubstr("is out of bounds"));
  EXPECT_THAT(problemOf("ld.local.u64 %rd1, [local+16];", 32), HasSubstr("is out of bounds"));
  EXPECT_EQ(problemOf("ld.local.u64 %rd1, [local+8];", 32), "");
  // A generic address is not an offset in shared memory, and the reverse.
  EXPECT_THAT(problemOf("mov.u64 %rd1, shared;\ncvta.shared.u64 %rd2, %rd1;\nld.shared.u32 %r1, [%rd2];", 32),
              HasSubstr("is out of bounds"));
  EXPECT_THAT(problemOf("mov.u64 %rd1, shared;\nld.u32 %r1, [%rd1];", 32), HasSubstr("is out of bounds"));
  EXPECT_EQ(problemOf("mov.u64 %rd1, shared;\ncvta.shared.u64 %rd2, %rd1;\nld.u32 %r1, [%rd2];", 32), "");
}

// Without a write before, memory and registers are NaN.
TEST(GpuEmulator, UninitializedFloats) {
  for (std::string read : {"ld.shared.f32 %f1, [shared+64];", "ld.local.f32 %f1, [local+4];", ""}) {
    std::string problem;
    std::vector<int32_t> numbers =
        run(read + "setp.nan.f32 %q1, %f1, %f1;\nselp.u32 %r1, 7, 8, %q1;\nst.global.u32 [%mine], %r1;", 32,
            ThreadOrder::forward(), problem);
    EXPECT_EQ(problem, "");
    EXPECT_EQ(numbers, std::vector<int32_t>(32, 7)) << read;
  }
}

// A thread writes memory that its neighbour reads: within a warp, and in another warp.
TEST(GpuEmulator, RaceInPlace) {
  for (std::string distance : {"1", "32"}) {
    std::string read = "xor.b32 %r1, %t, " + distance + ";\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd1, %p, %rd1;\n" +
                       "ld.global.u32 %r2, [%rd1];\n",
                write = "st.global.u32 [%mine], %r2;\n";
    EXPECT_FALSE(isSameInAllOrders(read + write, 64)) << distance;
    EXPECT_TRUE(isSameInAllOrders(read + "bar.sync 0;\n" + write, 64)) << distance;
    EXPECT_EQ(isSameInAllOrders(read + "bar.warp.sync -1;\n" + write, 64), distance == "1");
  }
}

// Shared memory that is read before other threads have written it.
TEST(GpuEmulator, MissingBarrier) {
  std::string write = "st.shared.u32 [%slot], %t;\n",
              read = "sub.s32 %r1, 127, %t;\nmul.wide.u32 %rd1, %r1, 4;\nmov.u64 %rd2, shared;\n"
                     "add.s64 %rd1, %rd1, %rd2;\nld.shared.u32 %r2, [%rd1];\nst.global.u32 [%mine], %r2;\n";
  EXPECT_FALSE(isSameInAllOrders(write + read, 128));
  EXPECT_TRUE(isSameInAllOrders(write + "bar.sync 0;\n" + read, 128));
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

namespace {

/// For clusters of two blocks of 32 threads: %n is the thread's number in the cluster, %other the other block.
const std::string kOfCluster = "mov.u32 %b, %ctaid.x;\nxor.b32 %other, %b, 1;\nmad.lo.s32 %n, %b, 32, %t;\n"
                               "mul.wide.u32 %rd8, %n, 4;\nadd.s64 %mine, %p, %rd8;\n"
                               "cvta.shared.u64 %rd7, %slot;\n";
const std::string kArrive = "barrier.cluster.arrive.aligned;\n", kWait = "barrier.cluster.wait.aligned;\n",
                  kMeet = kArrive + kWait, kWriteToOther = "mapa.u64 %rd1, %rd7, %other;\nst.u32 [%rd1], %n;\n",
                  kReadOwn = "ld.shared.u32 %r1, [%slot];\nst.global.u32 [%mine], %r1;\n";

std::string runCluster(const std::string &body, ThreadOrder order, std::vector<int32_t> &numbers, int64_t blocks = 2) {
  std::string problem;
  GpuEmulator emulator(emulatedKernel(kOfCluster + body, ".explicitcluster .reqnctapercluster 2, 1, 1"), problem);
  numbers.assign(64, 0);
  if (!problem.empty())
    return problem;
  return emulator.launch("f", {.gridBlocks = blocks,
                               .arguments = {numbers.data()},
                               .order = order,
                               .buffers = {{numbers.data(), numbers.size() * sizeof(int32_t)}}});
}

} // namespace

TEST(GpuEmulator, BlocksExchangeNumbers) {
  std::vector<int32_t> expected(64), numbers;
  for (int32_t n = 0; n < 64; ++n)
    expected[n] = n ^ 32;
  for (ThreadOrder order : {ThreadOrder::forward(), ThreadOrder::backward(), ThreadOrder::shuffled(1)}) {
    EXPECT_EQ(runCluster(kMeet + kWriteToOther + kMeet + kReadOwn, order, numbers), "");
    EXPECT_EQ(numbers, expected);
  }
}

TEST(GpuEmulator, MissingBarrierOfACluster) {
  std::vector<int32_t> forward, backward;
  // A block reads before the other one has written.
  EXPECT_EQ(runCluster(kMeet + kWriteToOther + kReadOwn + kMeet, ThreadOrder::forward(), forward), "");
  EXPECT_EQ(runCluster(kMeet + kWriteToOther + kReadOwn + kMeet, ThreadOrder::backward(), backward), "");
  EXPECT_NE(forward, backward);
  // It writes before the other one has begun, or after that one has ended.
  EXPECT_EQ(runCluster(kWriteToOther + kMeet + kReadOwn, ThreadOrder::forward(), forward),
            "f: block 0: thread 0: the shared memory of block 1, which has not begun");
  EXPECT_EQ(runCluster(kMeet + kWriteToOther, ThreadOrder::forward(), forward),
            "f: block 1: thread 0: the shared memory of block 0, which has ended");
}

TEST(GpuEmulator, MistakesAtABarrierOfACluster) {
  std::vector<int32_t> numbers;
  auto problemOf = [&](const std::string &body, int64_t blocks = 2) {
    return runCluster(body, ThreadOrder::forward(), numbers, blocks);
  };
  EXPECT_EQ(problemOf(kWait), "f: block 0: thread 0: waits for the cluster, but has not arrived");
  EXPECT_EQ(problemOf(kArrive + kMeet), "f: block 0: thread 0: arrives at the barrier of the cluster twice");
  EXPECT_EQ(problemOf("setp.eq.s32 %q1, %b, 0;\n@%q1 bra END;\n" + kMeet + "END:\n"),
            "f: block 0 has ended, and other blocks of its cluster wait for it");
  EXPECT_EQ(problemOf("@%first bra END;\n" + kMeet + "END:\n"),
            "f: block 0: 0 threads wait at a barrier, 31 for the cluster, 1 of 32 have ended");
  EXPECT_EQ(problemOf("mapa.u64 %rd1, %p, 0;\n"),
            "f: block 0: thread 0: the address in another block of memory that is not shared");
  EXPECT_EQ(problemOf(kMeet, 3), "f: a grid of 3 blocks in clusters of 2");
}

// A block may not write behind its window, nor behind that of another block.
TEST(GpuEmulator, AccessBehindMemoryOfACluster) {
  std::vector<int32_t> numbers;
  EXPECT_THAT(runCluster(kMeet + "mapa.u64 %rd1, %rd7, %other;\nst.u32 [%rd1+1024], %n;\n" + kMeet,
                         ThreadOrder::forward(), numbers),
              HasSubstr("st.u32 [%rd1+1024], %n: byte 1024 of buffer"));
}

//===----------------------------------------------------------------------===//
// Barriers with phases (mbarrier)
//===----------------------------------------------------------------------===//

namespace {

/// Statements on the barrier at %barrier, which the first thread prepares for `expected` arrivals before all go on.
std::string withPhases(int expected, const std::string &body) {
  return "mov.u64 %rd6, shared;\nadd.s64 %barrier, %rd6, 512;\n@%first mbarrier.init.shared.b64 [%barrier], " +
         std::to_string(expected) + ";\nbar.sync 0;\n" + body;
}

const std::string kArriveAtPhase = "mbarrier.arrive.shared.b64 %rd1, [%barrier];\n";
const std::string kCopyNumbers = "@%first cp.async.cg.shared.global [shared], [%p], 16;\n"
                                 "cp.async.mbarrier.arrive.noinc.shared.b64 [%barrier];\n";
/// Reads the number that the first thread's copy brings, the same for all, and stores 10 more.
const std::string kReadCopy =
    "ld.volatile.shared.u32 %r1, [shared+12];\nadd.s32 %r1, %r1, 10;\nst.global.u32 [%mine], %r1;\n";

std::string waitForPhase(int parity) {
  return "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared.b64 done, [%barrier], " +
         std::to_string(parity) + ";\n@!done bra again;\n}\n";
}

} // namespace

TEST(GpuEmulator, CopiesArriveAtAPhase) {
  std::vector<int32_t> numbers(64, 13);
  for (ThreadOrder order : {ThreadOrder::forward(), ThreadOrder::backward(), ThreadOrder::shuffled(1)}) {
    std::string problem;
    EXPECT_EQ(run(withPhases(64, kCopyNumbers + waitForPhase(0) + kReadCopy), 64, order, problem), numbers);
    EXPECT_EQ(problem, "");
    // Without the wait, nothing has arrived.
    for (int32_t number : run(withPhases(64, kCopyNumbers + kReadCopy), 64, order, problem))
      EXPECT_NE(number, 13);
    EXPECT_EQ(problem, "f: block 0: thread 0 has ended, and nothing has waited for its copies");
  }
}

TEST(GpuEmulator, CopyFromBehindABuffer) {
  EXPECT_THAT(problemOf("cp.async.cg.shared.global [shared], [%p+128], 16;", 32), HasSubstr("byte 128 of buffer 0"));
  const std::string wait = "cp.async.commit_group;\ncp.async.wait_group 0;\n";
  EXPECT_EQ(problemOf("cp.async.cg.shared.global [shared], [%p+112], 16;\n" + wait, 32), "");
  // Of a part, the bytes that are copied count.
  EXPECT_EQ(problemOf("cp.async.cg.shared.global [shared], [%p+128], 16, 0;\n" + wait, 32), "");
  EXPECT_THAT(problemOf("cp.async.cg.shared.global [shared+1016], [%p], 16;", 32), HasSubstr("not a multiple of 16"));
  EXPECT_THAT(problemOf("cp.async.cg.shared.global [shared+1024], [%p], 16;", 32), HasSubstr("is out of bounds"));
}

TEST(GpuEmulator, MistakesAtAPhase) {
  EXPECT_EQ(problemOf(withPhases(65, kArriveAtPhase + waitForPhase(0)), 64),
            "f: block 0: thread 0 waits for a phase of a barrier at which too few threads arrive");
  // The phase before the first one counts as complete, and the first one is not the second.
  EXPECT_EQ(problemOf(withPhases(64, waitForPhase(1)), 64), "");
  EXPECT_EQ(problemOf(withPhases(64, kArriveAtPhase + waitForPhase(0) + waitForPhase(1)), 64),
            "f: block 0: thread 0 waits for a phase of a barrier at which too few threads arrive");
  EXPECT_EQ(problemOf("add.s64 %barrier, %slot, 0;\nmul.lo.s64 %barrier, %barrier, 0;\n" + kArriveAtPhase, 64),
            "f: block 0: thread 0: uses a barrier that no thread has prepared");
}

//===----------------------------------------------------------------------===//
// Products of warpgroups
//===----------------------------------------------------------------------===//

namespace {

const std::string kFinishProducts = "wgmma.wait_group.sync.aligned 0;\n";

/// Starts a product of ones by ones with 16 addends; %q1 adds it to %f1 to %f4. `right`: the right factor's descriptor.
std::string startProduct(const std::string &right) {
  return "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, {%r1, "
         "%r1, %r1, %r1}, " +
         right + ", %q1, 1, 1, 0;\nwgmma.commit_group.sync.aligned;\n";
}

/// Fills `shared` with ones of bf16, executes `body`, and stores %f1 as an integer, NaN as -1. %rd1 and %rd2 are
/// descriptors of a factor at the begin of shared memory and behind it.
std::string withOnes(const std::string &body, const std::string &end = kFinishProducts) {
  return "mov.b32 %r1, 0x3f803f80;\nst.shared.u32 [%slot], %r1;\nst.shared.u32 [%slot+512], %r1;\nbar.sync 0;\n"
         "mov.u64 %rd1, 0x4000000000000000;\nmov.u64 %rd2, 0x4000000000000040;\nsetp.ne.u32 %q1, 0, 0;\n" +
         body +
         "setp.nan.f32 %q2, %f1, %f1;\ncvt.rzi.s32.f32 %r2, %f1;\nselp.s32 %r2, -1, %r2, %q2;\n"
         "st.global.u32 [%mine], %r2;\n" +
         end;
}

const std::string kAddProducts = "setp.eq.u32 %q1, 0, 0;\n";

} // namespace

TEST(GpuEmulator, ProductsAreThereAfterTheWait) {
  for (ThreadOrder order : {ThreadOrder::forward(), ThreadOrder::backward(), ThreadOrder::shuffled(1)}) {
    auto resultOf = [&](const std::string &body) {
      std::string problem;
      std::vector<int32_t> numbers = run(withOnes(body), 128, order, problem);
      EXPECT_EQ(problem, "");
      EXPECT_EQ(numbers, std::vector<int32_t>(128, numbers[0]));
      return numbers[0];
    };
    EXPECT_EQ(resultOf(startProduct("%rd1") + kFinishProducts), 16);
    EXPECT_EQ(resultOf(startProduct("%rd1") + kAddProducts + startProduct("%rd1") + kFinishProducts), 32);
    EXPECT_EQ(resultOf(startProduct("%rd1") + startProduct("%rd1") + kFinishProducts), 16);
    // Before the wait, and while a second product runs that adds to the first one.
    EXPECT_EQ(resultOf(startProduct("%rd1")), -1);
    EXPECT_EQ(
        resultOf(startProduct("%rd1") + kAddProducts + startProduct("%rd1") + "wgmma.wait_group.sync.aligned 1;\n"),
        -1);
  }
  EXPECT_EQ(problemOf(withOnes(startProduct("%rd2") + kFinishProducts), 128),
            "f: a product of a warpgroup reads beyond shared memory");
}

TEST(GpuEmulator, MistakesAtProducts) {
  auto problem = [](const std::string &body) { return problemOf(withOnes(body), 128); };
  std::string unfenced = startProduct("%rd1").substr(startProduct("").find('\n') + 1);
  EXPECT_EQ(problem(unfenced), "f: block 0: thread 0: starts a product of a warpgroup without wgmma.fence");
  EXPECT_EQ(problem(startProduct("%rd1") + kFinishProducts + unfenced),
            "f: block 0: thread 0: starts a product of a warpgroup without wgmma.fence");
  EXPECT_EQ(problemOf(withOnes(startProduct("%rd1"), ""), 128),
            "f: block 0: thread 0: ends while a product of a warpgroup runs");
  auto withDescriptor = [&](const std::string &value) {
    return problem("mov.u64 %rd1, " + value + ";\n" + startProduct("%rd1"));
  };
  EXPECT_THAT(withDescriptor("0"), HasSubstr("another layout than 128-byte swizzle"));
  EXPECT_THAT(withDescriptor("0x8000000000000000"), HasSubstr("another layout than 128-byte swizzle"));
  EXPECT_THAT(withDescriptor("0x4010000000000000"), HasSubstr("bits that no field has"));
  EXPECT_THAT(withDescriptor("0x4000000000000008"), HasSubstr("does not begin with the first row"));
  EXPECT_THAT(withDescriptor("0x4002000000000000"), HasSubstr("does not begin with the first row"));
  // One thread has another descriptor, and another predicate.
  EXPECT_THAT(problem("@%first mov.u64 %rd1, 0x4000000000000002;\n" + startProduct("%rd1")),
              HasSubstr("the threads of a warpgroup start different products"));
  EXPECT_THAT(problem("@%first setp.eq.u32 %q1, 0, 0;\n" + startProduct("%rd1")),
              HasSubstr("the threads of a warpgroup start different products"));
}

TEST(GpuEmulator, LaunchBeyondLimits) {
  auto problemOfLaunch = [](const std::string &ptx, int32_t threads, int64_t sharedBytes) {
    std::string problem;
    GpuEmulator emulator(ptx, problem);
    int32_t number = 0;
    return problem.empty()
               ? emulator.launch("f", {.blockThreads = threads, .arguments = {&number}, .sharedBytes = sharedBytes})
               : problem;
  };
  auto kernel = [](const std::string &directives, const std::string &body) {
    return ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 requested[];\n"
           ".visible .entry f(.param .u64 p)\n" +
           directives + "{\n.reg .b64 %r<4>;\n" + body + "ret;\n}\n";
  };
  EXPECT_EQ(problemOfLaunch(kernel(".maxntid 64, 1, 1\n", ""), 64, 0), "");
  EXPECT_EQ(problemOfLaunch(kernel(".maxntid 64, 1, 1\n", ""), 96, 0), "f: blocks of 96 threads, of at most 64");
  std::string declares = ".shared .align 16 .b8 own[24];\nmov.u64 %r1, own;\nmov.u64 %r2, requested;\n";
  EXPECT_EQ(problemOfLaunch(kernel("", declares), 32, 226 * 1024), "");
  EXPECT_EQ(problemOfLaunch(kernel("", declares), 32, 226 * 1024 + 16), "f: 232464 bytes of shared memory");
  EXPECT_EQ(problemOfLaunch(kernel("", ".shared .align 16 .b8 own[49168];\nmov.u64 %r1, own;\n"), 32, 0),
            "f declares 49168 bytes of shared memory");
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

// The emulator knows all that LLVM's backend writes for libdevice, whose functions kernels may call.
TEST(GpuEmulator, AllOfLibdevice) {
  SKIP_WITHOUT_LIBDEVICE();
  std::optional<std::string> path = findLibdevice("");
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseIRFile(*path, diagnostic, context);
  ASSERT_TRUE(module) << diagnostic.getMessage().str();
  // LLVM 19 selects no instruction for this one, which our code has as inline assembly.
  if (llvm::Function *tanh = module->getFunction("llvm.nvvm.tanh.approx.f32"))
    for (llvm::User *user : llvm::make_early_inc_range(tanh->users()))
      llvm::cast<llvm::Instruction>(user)->getFunction()->deleteBody();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget("nvptx64-nvidia-cuda", problem);
  ASSERT_TRUE(target) << problem;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine("nvptx64-nvidia-cuda", "sm_80", "+ptx70", {}, llvm::Reloc::PIC_));
  module->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  ASSERT_FALSE(machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile));
  passes.run(*module);
  GpuEmulator emulator(text.str().str(), problem);
  EXPECT_EQ(problem, "");
}

//===----------------------------------------------------------------------===//
// Blocks that wait for others
//===----------------------------------------------------------------------===//

// Block number `waits` waits for a word that the others count up, then all write their numbers.
TEST(GpuEmulator, BlocksWaitForOthers) {
  auto launch = [](int32_t resident, int32_t waits, int64_t awaited) {
    std::string problem;
    GpuEmulator emulator(emulatedKernel("mov.u32 %b, %ctaid.x;\nsetp.eq.u32 %q1, %b, " + std::to_string(waits) +
                                        ";\n@%q1 bra WAIT;\natom.global.add.u32 %r1, [%p], 1;\nbra END;\nWAIT:\n"
                                        "ld.volatile.global.u32 %r1, [%p];\nsetp.lt.u32 %q2, %r1, " +
                                        std::to_string(awaited) +
                                        ";\n@%q2 bra WAIT;\nEND:\nmul.wide.u32 %rd1, %b, 4;\n"
                                        "add.s64 %rd1, %p, %rd1;\nst.global.u32 [%rd1+4], %b;\n"),
                         problem);
    EXPECT_EQ(problem, "");
    std::vector<uint32_t> words(6, 99);
    words[0] = 0;
    problem = emulator.launch("f", {.gridBlocks = 5,
                                    .blockThreads = 1,
                                    .arguments = {words.data()},
                                    .residentBlocks = resident,
                                    .buffers = {{words.data(), words.size() * sizeof(uint32_t)}},
                                    .findsRaces = true});
    if (problem.empty())
      EXPECT_EQ(words, (std::vector<uint32_t>{4, 0, 1, 2, 3, 4}));
    return problem;
  };
  EXPECT_EQ(launch(5, 0, 4), "");
  EXPECT_EQ(launch(2, 0, 1), "");
  EXPECT_EQ(launch(1, 4, 4), "");
  EXPECT_EQ(launch(3, 3, 3), "");
  EXPECT_EQ(launch(3, 2, 1), "");
  // Blocks that are not on the GPU do not run before one of those that are has ended.
  EXPECT_EQ(launch(4, 0, 4), "f: blocks from 0 on wait for memory that no thread writes");
  EXPECT_EQ(launch(1, 0, 1), "f: blocks from 0 on wait for memory that no thread writes");
}
