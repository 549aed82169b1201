//===- EmulatorTest.cpp - errors that the GPU emulator finds --------------===//
//
// The other tests of this folder rely on the emulator, so it is checked on kernels written by hand, with one case for
// each kind of error that it finds.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/GpuProgramHelper.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace spmdc;

namespace {

/// A kernel on i32 numbers at %p: %t is the thread's number, %mine the address of its own.
std::string kernel(const std::string &body) {
  return R"(
    declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    declare void @llvm.nvvm.barrier0()
    declare void @llvm.nvvm.bar.warp.sync(i32)
    declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
    @shared = internal addrspace(3) global [256 x i32] poison
    define void @f(ptr %p) {
      %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
      %mine = getelementptr i32, ptr %p, i32 %t
      %first = icmp eq i32 %t, 0
  )" + body +
         "\n}\n";
}

/// The kernel's result for 0, 1, 2 ...; `problem` receives the emulator's error.
std::vector<int32_t> run(const std::string &text, int32_t threads, ThreadOrder order, std::string &problem) {
  GpuEmulator emulator(text, problem);
  std::vector<int32_t> numbers(threads);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (problem.empty())
    problem = emulator.launch("f", 1, threads, {numbers.data()}, order);
  return numbers;
}

std::string problemOf(const std::string &body, int32_t threads) {
  std::string problem;
  run(kernel(body), threads, ThreadOrder::forward(), problem);
  return problem;
}

/// True if the result is the same in every order of threads that tests use.
bool isSameInAllOrders(const std::string &body, int32_t threads) {
  std::string problem;
  std::vector<int32_t> expected = run(kernel(body), threads, ThreadOrder::forward(), problem);
  EXPECT_EQ(problem, "");
  for (ThreadOrder order : {ThreadOrder::backward(), ThreadOrder::shuffled(1), ThreadOrder::shuffled(2)})
    if (run(kernel(body), threads, order, problem) != expected)
      return false;
  return true;
}

} // namespace

TEST(GpuEmulator, BarrierThatOneThreadLeavesOut) {
  EXPECT_EQ(problemOf(R"(
      br i1 %first, label %out, label %wait
    wait:
      call void @llvm.nvvm.barrier0()
      br label %out
    out:
      ret void)",
                      64),
            "f: block 0: 63 threads wait at a barrier, 1 of 64 have ended");
}

TEST(GpuEmulator, ShuffleThatOneLaneLeavesOut) {
  EXPECT_EQ(problemOf(R"(
      br i1 %first, label %out, label %exchange
    exchange:
      %v = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 1, i32 31)
      br label %out
    out:
      ret void)",
                      32),
            "f: block 0: only 31 of the 32 threads from 0 on reach a warp operation");
}

TEST(GpuEmulator, ShuffleFromALaneThatDoesNotExist) {
  EXPECT_EQ(problemOf(R"(
      %v = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 16, i32 31)
      ret void)",
                      24),
            "f: a shuffle from a lane that does not exist");
}

TEST(GpuEmulator, UnknownInstruction) {
  EXPECT_EQ(problemOf(R"(
      %v = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
      ret void
    }
    declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
    define internal void @g() {
      ret void)",
                      32),
            "instructions that the emulator does not know: read.ptx.sreg.laneid");
  EXPECT_EQ(problemOf(R"(
      %v = call i32 asm "vote.ballot.b32 $0, $1;", "=r,r"(i32 %t)
      ret void)",
                      32),
            "inline assembly that the emulator does not know: vote.ballot.b32 $0, $1");
}

// A thread writes memory that its neighbour reads: within a warp, and in another warp.
TEST(GpuEmulator, RaceInPlace) {
  for (std::string distance : {"1", "32"}) {
    std::string read = R"(
      %other = xor i32 %t, )" +
                       distance + R"(
      %theirs = getelementptr i32, ptr %p, i32 %other
      %v = load i32, ptr %theirs
)",
                write = R"(
      store i32 %v, ptr %mine
      ret void)";
    EXPECT_FALSE(isSameInAllOrders(read + write, 64)) << distance;
    EXPECT_TRUE(isSameInAllOrders(read + "call void @llvm.nvvm.barrier0()\n" + write, 64)) << distance;
    EXPECT_EQ(isSameInAllOrders(read + "call void @llvm.nvvm.bar.warp.sync(i32 -1)\n" + write, 64), distance == "1");
  }
}

// Shared memory that is read before other threads have written it.
TEST(GpuEmulator, MissingBarrier) {
  std::string write = R"(
      %place = getelementptr i32, ptr addrspace(3) @shared, i32 %t
      store i32 %t, ptr addrspace(3) %place
)",
              read = R"(
      %other = sub i32 127, %t
      %theirs = getelementptr i32, ptr addrspace(3) @shared, i32 %other
      %v = load i32, ptr addrspace(3) %theirs
      store i32 %v, ptr %mine
      ret void)";
  EXPECT_FALSE(isSameInAllOrders(write + read, 128));
  EXPECT_TRUE(isSameInAllOrders(write + "call void @llvm.nvvm.barrier0()\n" + read, 128));
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

namespace {

/// A kernel of clusters of two blocks of 32 threads: %n is the thread's number in the cluster, %mine the address of its
/// own number, %slot its address in shared memory, %other the other block.
std::string clusterKernel(const std::string &body) {
  return R"(
    declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
    declare void @llvm.nvvm.barrier.cluster.arrive.aligned()
    declare void @llvm.nvvm.barrier.cluster.wait.aligned()
    declare ptr @llvm.nvvm.mapa(ptr, i32)
    @shared = internal addrspace(3) global [32 x i32] poison
    define void @f(ptr %p) "nvvm.cluster_dim"="2" {
      %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
      %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
      %other = xor i32 %b, 1
      %start = mul i32 %b, 32
      %n = add i32 %start, %t
      %mine = getelementptr i32, ptr %p, i32 %n
      %place = getelementptr i32, ptr addrspace(3) @shared, i32 %t
      %slot = addrspacecast ptr addrspace(3) %place to ptr
  )" + body +
         "\n ret void\n}\n";
}

const std::string kArrive = "call void @llvm.nvvm.barrier.cluster.arrive.aligned()\n",
                  kWait = "call void @llvm.nvvm.barrier.cluster.wait.aligned()\n", kMeet = kArrive + kWait,
                  kWriteToOther = "%theirs = call ptr @llvm.nvvm.mapa(ptr %slot, i32 %other)\n"
                                  "store i32 %n, ptr %theirs\n",
                  kReadOwn = "%v = load i32, ptr addrspace(3) %place\nstore i32 %v, ptr %mine\n";

std::string runCluster(const std::string &body, ThreadOrder order, std::vector<int32_t> &numbers, int64_t blocks = 2) {
  std::string problem;
  GpuEmulator emulator(clusterKernel(body), problem);
  numbers.assign(64, 0);
  return problem.empty() ? emulator.launch("f", blocks, 32, {numbers.data()}, order) : problem;
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
  EXPECT_EQ(problemOf("%out = icmp eq i32 %b, 0\nbr i1 %out, label %end, label %meet\nmeet:\n" + kMeet +
                      "br label %end\nend:\n"),
            "f: block 0 has ended, and other blocks of its cluster wait for it");
  EXPECT_EQ(problemOf("%out = icmp eq i32 %t, 0\nbr i1 %out, label %end, label %meet\nmeet:\n" + kMeet +
                      "br label %end\nend:\n"),
            "f: block 0: 0 threads wait at a barrier, 31 for the cluster, 1 of 32 have ended");
  EXPECT_EQ(problemOf("%a = call ptr @llvm.nvvm.mapa(ptr %p, i32 0)\n"),
            "f: block 0: thread 0: the address in another block of memory that is not shared");
  EXPECT_EQ(problemOf(kMeet, 3), "f: a grid of 3 blocks in clusters of 2");
}

//===----------------------------------------------------------------------===//
// Barriers with phases (mbarrier)
//===----------------------------------------------------------------------===//

namespace {

/// Statements on the barrier at %barrier, which the first thread prepares for `expected` arrivals before all go on.
std::string withPhases(int expected, const std::string &body) {
  return R"(
      %barrier = getelementptr i32, ptr addrspace(3) @shared, i32 128
      %slot = getelementptr i32, ptr addrspace(3) @shared, i32 0
      %address = ptrtoint ptr addrspace(3) %barrier to i64
      br i1 %first, label %prepare, label %ready
    prepare:
      call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %barrier, i32 )" +
         std::to_string(expected) + R"()
      br label %ready
    ready:
      call void @llvm.nvvm.barrier0()
)" + body +
         R"(
      ret void
    }
    declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
    declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
    declare void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3))
    declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
    define internal void @g() {
      ret void)";
}

const std::string kArriveAtPhase = "%a = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %barrier)\n";
const std::string kCopyNumbers = R"(
      %global = addrspacecast ptr %p to ptr addrspace(1)
      br i1 %first, label %copy, label %copied
    copy:
      call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %slot, ptr addrspace(1) %global)
      br label %copied
    copied:
      call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) %barrier)
)";
/// Reads the number that the first thread's copy brings, the same for all, and stores 10 more.
const std::string kReadCopy = R"(
      %place = getelementptr i32, ptr addrspace(3) %slot, i32 3
      %v = load volatile i32, ptr addrspace(3) %place
      %more = add i32 %v, 10
      store i32 %more, ptr %mine
)";

std::string waitForPhase(int parity) {
  return R"(call void asm sideeffect "{\0A.reg .pred done;\0Aagain:\0Ambarrier.try_wait.parity.shared.b64 done, [$0], $1;\0A@!done bra again;\0A}", "l,r,~{memory}"(i64 %address, i32 )" +
         std::to_string(parity) + ")\n";
}

} // namespace

TEST(GpuEmulator, CopiesArriveAtAPhase) {
  std::vector<int32_t> numbers(64, 13);
  for (ThreadOrder order : {ThreadOrder::forward(), ThreadOrder::backward(), ThreadOrder::shuffled(1)}) {
    std::string problem;
    EXPECT_EQ(run(kernel(withPhases(64, kCopyNumbers + waitForPhase(0) + kReadCopy)), 64, order, problem), numbers);
    EXPECT_EQ(problem, "");
    // Without the wait, nothing has arrived.
    for (int32_t number : run(kernel(withPhases(64, kCopyNumbers + kReadCopy)), 64, order, problem))
      EXPECT_NE(number, 13);
  }
}

TEST(GpuEmulator, MistakesAtAPhase) {
  EXPECT_EQ(problemOf(withPhases(65, kArriveAtPhase + waitForPhase(0)), 64),
            "f: block 0: thread 0 waits for a phase of a barrier at which too few threads arrive");
  // The phase before the first one counts as complete, and the first one is not the second.
  EXPECT_EQ(problemOf(withPhases(64, waitForPhase(1)), 64), "");
  EXPECT_EQ(problemOf(withPhases(64, kArriveAtPhase + waitForPhase(0) + waitForPhase(1)), 64),
            "f: block 0: thread 0 waits for a phase of a barrier at which too few threads arrive");
  std::string unprepared = withPhases(64, kArriveAtPhase);
  size_t at = unprepared.find("br i1 %first, label %prepare");
  unprepared.replace(at, std::string("br i1 %first, label %prepare").size(), "br i1 false, label %prepare");
  EXPECT_EQ(problemOf(unprepared, 64), "f: block 0: thread 0: uses a barrier that no thread has prepared");
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

// Carries of 32-bit words, as libdevice multiplies and adds wide numbers with them: -1 * 5 + 7 in 64 bits, 1 - 2.
TEST(GpuEmulator, InlineAssembly) {
  std::string problem;
  std::vector<int32_t> numbers = run(kernel(R"(
      %wide = call { i32, i32 } asm "{ mad.lo.cc.u32 $0, $2, $3, $4; madc.hi.u32 $1, $2, $3, 0; }", "=r,=r,r,r,r"(i32 -1, i32 5, i32 7)
      %low = extractvalue { i32, i32 } %wide, 0
      %high = extractvalue { i32, i32 } %wide, 1
      %less = call i64 asm "{ .reg .u32 r0, r1, a0, a1; mov.b64 {a0,a1}, $1; sub.cc.u32 r0, a0, 2; subc.u32 r1, a1, 0; mov.b64 $0, {r0,r1}; }", "=l,l"(i64 1)
      %lessHigh = lshr i64 %less, 32
      %lessLow = trunc i64 %less to i32
      %lessTop = trunc i64 %lessHigh to i32
      %place1 = getelementptr i32, ptr %p, i32 1
      %place2 = getelementptr i32, ptr %p, i32 2
      %place3 = getelementptr i32, ptr %p, i32 3
      store i32 %low, ptr %p
      store i32 %high, ptr %place1
      store i32 %lessLow, ptr %place2
      store i32 %lessTop, ptr %place3
      ret void)"),
                                     4, ThreadOrder::forward(), problem);
  EXPECT_EQ(problem, "");
  // (2^32 - 1) * 5 + 7 = 5 * 2^32 + 2
  EXPECT_EQ(numbers, (std::vector<int32_t>{2, 5, -1, -1}));
}

// The emulator knows the instructions of all functions of libdevice, which kernels may call.
TEST(GpuEmulator, AllOfLibdevice) {
  SKIP_WITHOUT_LIBDEVICE();
  std::optional<std::string> path = findLibdevice("");
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseIRFile(*path, diagnostic, context);
  ASSERT_TRUE(module) << diagnostic.getMessage().str();
  std::string text, problem;
  llvm::raw_string_ostream(text) << *module;
  GpuEmulator emulator(text, problem);
  EXPECT_EQ(problem, "");
}
