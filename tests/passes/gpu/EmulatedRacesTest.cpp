//===- EmulatedRacesTest.cpp - data races that the GPU emulator finds -----===//
//
// Each kind of synchronization once, as a kernel that needs it, and the same kernel without it or with a weaker one.
// The rules are those of the PTX ISA's memory consistency model (GpuRacesHelper.h).
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/EmulatedKernelHelper.h"
#include "tests/passes/gpu/emulator/GpuEmulatorHelper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using testing::HasSubstr;

namespace {

/// Statements of a kernel, and how it is launched.
struct Example {
  std::string body;
  int32_t threads = 64;
  int64_t blocks = 1;
  std::string directives = "";
};

/// The error of the kernel; an empty string if there is none.
std::string raceIn(ThreadOrder order, const Example &example) {
  std::string problem;
  GpuEmulator emulator(emulatedKernel(example.body, example.directives), problem);
  std::vector<int32_t> numbers(1024);
  if (problem.empty())
    problem = emulator.launch("f", {.gridBlocks = example.blocks,
                                    .blockThreads = example.threads,
                                    .arguments = {numbers.data()},
                                    .order = std::move(order),
                                    .buffers = {{numbers.data(), numbers.size() * sizeof(int32_t)}},
                                    .findsRaces = true});
  EXPECT_TRUE(problem.empty() || problem.find("a race on") != std::string::npos) << problem;
  return problem;
}

/// The same if threads run forwards; every order of threads must find a race, or none.
std::string raceOf(const Example &example) {
  std::string forwards = raceIn(ThreadOrder::forward(), example);
  for (ThreadOrder order : {ThreadOrder::backward(), ThreadOrder::shuffled(1)})
    EXPECT_EQ(raceIn(order, example).empty(), forwards.empty()) << example.body;
  return forwards;
}

#define EXPECT_RACE(...) EXPECT_THAT(raceOf(__VA_ARGS__), HasSubstr("a race on"))
#define EXPECT_NO_RACE(...) EXPECT_EQ(raceOf(__VA_ARGS__), "")

/// Statement number `line` of a body, as errors name it.
std::string at(int line) { return "line " + std::to_string(kEmulatedBodyLine + line) + ": "; }

const std::string kBlockBarrier = "bar.sync 0;\n", kWarpBarrier = "bar.warp.sync -1;\n";
/// Shared memory: the thread's own number, and that of the thread whose number differs in some bits.
const std::string kWriteOwn = "st.shared.u32 [%slot], %t;\n", kReadOwn = "ld.shared.u32 %r2, [%slot];\n";
std::string findOther(int bits) {
  return "xor.b32 %r1, %t, " + std::to_string(bits) +
         ";\nmul.wide.u32 %rd1, %r1, 4;\nmov.u64 %rd2, shared;\nadd.s64 %rd1, %rd1, %rd2;\n";
}
const std::string kReadOther = "ld.shared.u32 %r2, [%rd1];\n", kWriteOther = "st.shared.u32 [%rd1], %t;\n";

} // namespace

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

TEST(GpuRaces, BarrierOfABlock) {
  std::string find = findOther(32);
  EXPECT_EQ(raceOf({kWriteOwn + find + kReadOther}),
            "f: block 0: thread 32: " + at(0) +
                "st.shared.u32 [%slot], %t: a race on byte 128 of the shared memory with block 0: thread 0, " + at(5) +
                "ld.shared.u32 %r2, [%rd1]");
  EXPECT_NO_RACE({kWriteOwn + kBlockBarrier + find + kReadOther});
  // A write after a read, and after a write, even of the same value.
  EXPECT_RACE({kWriteOwn + kBlockBarrier + find + kReadOther + kWriteOwn});
  EXPECT_NO_RACE({kWriteOwn + kBlockBarrier + find + kReadOther + kBlockBarrier + kWriteOwn});
  EXPECT_RACE({"st.shared.u32 [shared], 1;\n"});
  EXPECT_NO_RACE({"@%first st.shared.u32 [shared], 1;\n"});
  EXPECT_RACE({"st.global.u32 [%p], 1;\n"});
  // A barrier for a warp is not enough, and reads by more threads than are kept do not hide that.
  EXPECT_RACE({kWriteOwn + kWarpBarrier + find + kReadOther});
  EXPECT_RACE({"ld.shared.u32 %r2, [shared];\n" + kWarpBarrier + "setp.eq.u32 %q1, %t, 255;\n" +
                   "@%q1 st.shared.u32 [shared], 1;\n",
               256});
  EXPECT_RACE({"ld.shared.u32 %r2, [shared];\n" + kWarpBarrier + "@%first st.shared.u32 [shared], 1;\n"});
  EXPECT_NO_RACE({"ld.shared.u32 %r2, [shared];\n" + kBlockBarrier + "setp.eq.u32 %q1, %t, 255;\n" +
                      "@%q1 st.shared.u32 [shared], 1;\n",
                  256});
}

TEST(GpuRaces, BarrierOfAWarp) {
  std::string find = findOther(1);
  EXPECT_RACE({kWriteOwn + find + kReadOther});
  EXPECT_NO_RACE({kWriteOwn + kWarpBarrier + find + kReadOther});
  // Neither a shuffle nor a vote orders memory.
  EXPECT_RACE({kWriteOwn + "shfl.sync.bfly.b32 %r3, %t, 1, 31, -1;\n" + find + kReadOther});
  EXPECT_RACE({kWriteOwn + "vote.sync.ballot.b32 %r3, %first, -1;\n" + find + kReadOther});
  // A block's barrier also orders what a warp has ordered before.
  EXPECT_NO_RACE({kWriteOwn + kWarpBarrier + find + kReadOther + kBlockBarrier + kWriteOther});
}

// Each byte of its own: neighbours may be written by other threads.
TEST(GpuRaces, Bytes) {
  std::string bytes = "cvt.u64.u32 %rd1, %t;\nadd.s64 %rd1, %p, %rd1;\n";
  EXPECT_NO_RACE({bytes + "st.global.u8 [%rd1], %t;\n"});
  EXPECT_NO_RACE({bytes + "add.s64 %rd2, %rd1, %rd1;\nsub.s64 %rd2, %rd2, %p;\nst.global.u16 [%rd2], %t;\n"});
  EXPECT_RACE({bytes + "st.global.u8 [%rd1], %t;\nst.global.u8 [%rd1+1], %t;\n"});
  EXPECT_RACE({"st.global.u32 [%mine], %t;\nld.global.u8 %r1, [%p+7];\n"});
  EXPECT_RACE({"@%first st.global.u8 [%p], 1;\n@%first st.global.u8 [%p+1], 1;\n@!%first ld.global.u8 %r1, [%p];\n"});
  EXPECT_RACE({"mul.wide.u32 %rd1, %t, 8;\nadd.s64 %rd1, %p, %rd1;\nst.global.u64 [%rd1], %rd1;\n"
               "ld.global.u8 %r1, [%p+15];\n"});
}

TEST(GpuRaces, Blocks) {
  // Each thread of a block writes its own number, as those of other blocks do.
  EXPECT_EQ(raceOf({"st.global.u32 [%mine], %t;\n", 32, 2}),
            "f: block 1: thread 0: " + at(0) +
                "st.global.u32 [%mine], %t: a race on byte 0 of buffer 0 with block 0: thread 0, " + at(0) +
                "st.global.u32 [%mine], %t");
  EXPECT_RACE({"st.global.u32 [%mine], %t;\n" + kBlockBarrier, 32, 2});
  EXPECT_NO_RACE({"ld.global.u32 %r1, [%mine];\n", 32, 2});
  // Shared memory is another one for each block.
  EXPECT_NO_RACE({kWriteOwn, 32, 2});
  std::string ofBlock = "mov.u32 %b, %ctaid.x;\nmul.wide.u32 %rd1, %b, 128;\nadd.s64 %mine, %mine, %rd1;\n";
  EXPECT_NO_RACE({ofBlock + "st.global.u32 [%mine], %t;\n", 32, 2});
}

//===----------------------------------------------------------------------===//
// Atomics and fences
//===----------------------------------------------------------------------===//

TEST(GpuRaces, Atomics) {
  for (std::string update : {"atom.global.add.u32 %r1, [%p], 1;\n", "red.global.max.u32 [%p], 1;\n",
                             "st.relaxed.gpu.global.u32 [%p], 1;\n", "st.volatile.global.u32 [%p], 1;\n"}) {
    EXPECT_NO_RACE({update, 32, 2});
    EXPECT_RACE({update + "ld.global.u32 %r2, [%p];\n", 32, 2});
    EXPECT_RACE({"@%first st.global.u32 [%p], 1;\n" + update, 32, 1});
  }
  EXPECT_NO_RACE({"atom.cta.global.add.u32 %r1, [%p], 1;\n", 32, 1});
  EXPECT_RACE({"atom.cta.global.add.u32 %r1, [%p], 1;\n", 32, 2});
  EXPECT_RACE({"mov.u32 %b, %ctaid.x;\nsetp.eq.u32 %q1, %b, 0;\n@%q1 atom.cta.global.add.u32 %r1, [%p], 1;\n"
               "atom.gpu.global.add.u32 %r1, [%p], 1;\n",
               32, 2});
}

namespace {

/// Each block writes a number and counts itself; the last one reads all numbers.
Example lastBlock(const std::string &before, const std::string &count, const std::string &behind) {
  return {"mov.u32 %b, %ctaid.x;\nmul.wide.u32 %rd1, %b, 4;\nadd.s64 %rd1, %p, %rd1;\n@%first st.global.u32 [%rd1+4], "
          "%b;\n" +
              before + "mov.u32 %r1, 0;\n@%first " + count +
              " %r1, [%p], 1;\nsetp.ne.u32 %q1, %r1, 2;\n@%q1 bra END;\n" + behind +
              "ld.global.u32 %r2, [%p+4];\nld.global.u32 %r2, [%p+8];\nEND:\n",
          32, 3};
}

} // namespace

TEST(GpuRaces, LastBlock) {
  std::string count = "atom.global.add.u32", fence = "membar.gl;\n";
  EXPECT_NO_RACE(lastBlock(fence, count, fence));
  EXPECT_NO_RACE(lastBlock("fence.acq_rel.gpu;\n", count, "fence.sc.sys;\n"));
  EXPECT_RACE(lastBlock("", count, fence));
  EXPECT_RACE(lastBlock(fence, count, ""));
  EXPECT_RACE(lastBlock("membar.cta;\n", count, fence));
  EXPECT_RACE(lastBlock(fence, count, "membar.cta;\n"));
  EXPECT_NO_RACE(lastBlock("", "atom.acq_rel.gpu.global.add.u32", ""));
  EXPECT_NO_RACE(lastBlock("", "atom.release.gpu.global.add.u32", fence));
  EXPECT_RACE(lastBlock("", "atom.release.gpu.global.add.u32", ""));
  EXPECT_RACE(lastBlock("", "atom.relaxed.gpu.global.add.u32", ""));
}

// Thread 0 writes and raises a flag, which the other warp reads.
TEST(GpuRaces, Flags) {
  auto pass = [](const std::string &before, const std::string &raise, const std::string &read,
                 const std::string &behind) {
    return Example{"@!%first bra READ;\nst.shared.u32 [shared+4], 5;\n" + before + raise + "READ:\n" + read +
                   "setp.ne.u32 %q1, %r1, 1;\n@%q1 bra END;\n" + behind + "ld.shared.u32 %r2, [shared+4];\nEND:\n"};
  };
  // Backwards, no thread finds the flag.
  auto raceForwards = [](const Example &example) { return raceIn(ThreadOrder::forward(), example); };
  std::string raise = "st.relaxed.cta.shared.u32 [shared], 1;\n", read = "ld.relaxed.cta.shared.u32 %r1, [shared];\n";
  EXPECT_NO_RACE(pass("fence.acq_rel.cta;\n", raise, read, "fence.acq_rel.cta;\n"));
  EXPECT_NO_RACE(
      pass("", "st.release.cta.shared.u32 [shared], 1;\n", "ld.acquire.cta.shared.u32 %r1, [shared];\n", ""));
  // A store hides what the one before it has carried.
  EXPECT_THAT(raceForwards(pass("", "st.release.cta.shared.u32 [shared], 1;\n",
                                raise + "ld.acquire.cta.shared.u32 %r1, [shared];\n", "")),
              HasSubstr("a race on byte 4"));
  EXPECT_THAT(raceForwards(pass("", raise, read, "membar.cta;\n")), HasSubstr("a race on byte 4"));
  EXPECT_THAT(raceForwards(pass("membar.cta;\n", raise, read, "")), HasSubstr("a race on byte 4"));
  EXPECT_THAT(raceForwards(pass("membar.cta;\n", "st.shared.u32 [shared], 1;\n", read, "membar.cta;\n")),
              HasSubstr("a race on byte 0"));
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

namespace {

/// Blocks of a cluster of two write to each other's shared memory, and read their own.
std::string raceOfCluster(const std::string &between, const std::string &global = "") {
  std::string arrive = "barrier.cluster.arrive.aligned;\n", wait = "barrier.cluster.wait.aligned;\n";
  std::string text = between;
  for (const auto &[name, statement] : {std::pair("A", arrive), {"W", wait}, {"B", kBlockBarrier}, {"R", kReadOwn}})
    for (size_t position = text.find(name); position != std::string::npos; position = text.find(name))
      text.replace(position, 1, statement == kReadOwn ? "ld.shared.u32 %r2, [%slot];\n" : statement);
  return raceOf({"mov.u32 %b, %cluster_ctarank;\nxor.b32 %other, %b, 1;\ncvta.shared.u64 %rd7, %slot;\n" + arrive +
                     wait + "mapa.u64 %rd1, %rd7, %other;\nst.u32 [%rd1], %t;\n" + global + text + arrive + wait,
                 32, 4, ".explicitcluster .reqnctapercluster 2, 1, 1"});
}

} // namespace

TEST(GpuRaces, BarrierOfACluster) {
  EXPECT_EQ(raceOfCluster("AWR"), "");
  EXPECT_EQ(raceOfCluster("AWRAWR"), "");
  EXPECT_THAT(raceOfCluster("R"), HasSubstr("of the shared memory of block"));
  EXPECT_THAT(raceOfCluster("BR"), HasSubstr("a race on"));
  // Between its arrival and its wait a thread is not ordered after any other one.
  EXPECT_THAT(raceOfCluster("ARW"), HasSubstr("a race on"));
  EXPECT_THAT(raceOfCluster("AWR", "st.global.u32 [%mine], %t;\n"), HasSubstr("of buffer 0"));
  EXPECT_EQ(raceOfCluster("AWRAWR", "ld.global.u32 %r1, [%mine];\n"), "");
}

//===----------------------------------------------------------------------===//
// Asynchronous operations
//===----------------------------------------------------------------------===//

namespace {

const std::string kCopyOwn = "and.b32 %r1, %t, 60;\nmul.wide.u32 %rd3, %t, 16;\nmov.u64 %rd2, shared;\n"
                             "add.s64 %rd2, %rd2, %rd3;\nadd.s64 %rd3, %p, %rd3;\n"
                             "cp.async.cg.shared.global [%rd2], [%rd3], 16;\n",
                  kWaitForCopies = "cp.async.wait_all;\n", kReadCopy = "ld.shared.u32 %r2, [%rd2];\n",
                  kReadOtherCopy = "xor.b64 %rd4, %rd2, 16;\nld.shared.u32 %r2, [%rd4];\n";

/// For 32 threads: prepares the barrier at %barrier, at which they arrive.
const std::string kPrepare = "mov.u64 %rd6, shared;\nadd.s64 %barrier, %rd6, 1016;\n"
                             "@%first mbarrier.init.shared.b64 [%barrier], 32;\n";
Example withPhases(const std::string &body) { return {kPrepare + kBlockBarrier + body, 32}; }
const std::string kArrive = "mbarrier.arrive.shared.b64 %rd5, [%barrier];\n",
                  kArriveWithCopies = "cp.async.mbarrier.arrive.noinc.shared.b64 [%barrier];\n";
std::string waitForPhase(int parity) {
  return "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared.b64 done, [%barrier], " +
         std::to_string(parity) + ";\n@!done bra again;\n}\n";
}

} // namespace

TEST(GpuRaces, Copies) {
  // Without a wait, not even the thread itself may read.
  EXPECT_RACE({kCopyOwn + kReadCopy, 32});
  EXPECT_RACE({kCopyOwn + kBlockBarrier + kReadCopy, 32});
  EXPECT_NO_RACE({kCopyOwn + kWaitForCopies + kReadCopy, 32});
  EXPECT_NO_RACE({kCopyOwn + "cp.async.commit_group;\ncp.async.wait_group 0;\n" + kReadCopy, 32});
  // A wait is for groups that are committed, and may leave the last ones.
  EXPECT_RACE({kCopyOwn + "cp.async.wait_group 0;\n" + kReadCopy, 32});
  std::string commit = "cp.async.commit_group;\n";
  EXPECT_RACE({kCopyOwn + commit + "cp.async.wait_group 1;\n" + kReadCopy, 32});
  EXPECT_NO_RACE({kCopyOwn + commit + commit + "cp.async.wait_group 1;\n" + kReadCopy, 32});
  // For other threads, a barrier must follow the wait.
  EXPECT_RACE({kCopyOwn + kWaitForCopies + kReadOtherCopy, 32});
  EXPECT_RACE({kCopyOwn + kBlockBarrier + kWaitForCopies + kReadOtherCopy, 32});
  EXPECT_NO_RACE({kCopyOwn + kWaitForCopies + kBlockBarrier + kReadOtherCopy, 32});
  // It also reads until then.
  EXPECT_RACE({kCopyOwn + "st.global.u32 [%rd3], %t;\n", 32});
  EXPECT_NO_RACE({kCopyOwn + kWaitForCopies + "st.global.u32 [%rd3], %t;\n", 32});
  // A copy after a read needs nothing, one after another copy does.
  EXPECT_NO_RACE({kReadOwn + kWarpBarrier + kCopyOwn + kWaitForCopies, 32});
  EXPECT_RACE({kCopyOwn + kCopyOwn + kWaitForCopies, 32});
}

TEST(GpuRaces, Phases) {
  std::string find = findOther(1);
  EXPECT_NO_RACE(withPhases(kWriteOwn + kArrive + waitForPhase(0) + find + kReadOther));
  EXPECT_RACE(withPhases(kWriteOwn + kArrive + find + kReadOther));
  // The accesses behind the arrival are of the next phase.
  EXPECT_RACE(withPhases(kArrive + kWriteOwn + waitForPhase(0) + find + kReadOther));
  EXPECT_RACE(withPhases(kWriteOwn + kArrive + waitForPhase(0) + find + kReadOther + kWriteOwn));
  EXPECT_NO_RACE(
      withPhases(kWriteOwn + kArrive + waitForPhase(0) + find + kReadOther + kArrive + waitForPhase(1) + kWriteOwn));
  // An arrival at the next phase does not count before that is complete.
  EXPECT_RACE(withPhases(kArrive + waitForPhase(0) +
                         "@%first st.shared.u32 [shared], 1;\n@%first mbarrier.arrive.shared.b64 %rd5, [%barrier];\n"
                         "ld.shared.u32 %r2, [shared];\n"));
  // Its preparation is a write.
  EXPECT_THAT(raceIn(ThreadOrder::forward(), {kPrepare + kArrive, 32}), HasSubstr("mbarrier.init"));
}

TEST(GpuRaces, CopiesArriveAtAPhase) {
  EXPECT_NO_RACE(withPhases(kCopyOwn + kArriveWithCopies + waitForPhase(0) + kReadOtherCopy));
  EXPECT_RACE(withPhases(kCopyOwn + kArriveWithCopies + kReadOtherCopy));
  // An arrival of the thread is not one of its copies.
  EXPECT_RACE(withPhases(kCopyOwn + kArrive + waitForPhase(0) + kReadOtherCopy));
  // Copies that start after the arrival are of the next phase, and so is what the thread writes.
  EXPECT_RACE(withPhases(kArriveWithCopies + kCopyOwn + waitForPhase(0) + kReadOtherCopy));
  std::string write = "@%first st.shared.u32 [shared+768], 1;\n", read = "ld.shared.u32 %r2, [shared+768];\n";
  EXPECT_NO_RACE(withPhases(write + kCopyOwn + kArriveWithCopies + waitForPhase(0) + read));
  EXPECT_RACE(withPhases(kCopyOwn + write + kArriveWithCopies + waitForPhase(0) + read));
}

namespace {

const std::string
    kPublish = "fence.proxy.async.shared::cta;\n",
    kStart = "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, "
             "{%r1, %r1, %r1, %r1}, %rd1, %q1, 1, 1, 0;\nwgmma.commit_group.sync.aligned;\n",
    kFinish = "wgmma.wait_group.sync.aligned 0;\n";

/// A product of 16 x 8 numbers of bf16 in the first 512 bytes of shared memory.
Example product(const std::string &begin, const std::string &end) {
  return {"mov.u64 %rd1, 0x4000000000000000;\nsetp.ne.u32 %q1, 0, 0;\nmov.b32 %r1, 0;\n" + kWriteOwn + begin + kStart +
              end,
          128};
}

} // namespace

TEST(GpuRaces, Products) {
  EXPECT_NO_RACE(product(kPublish + kBlockBarrier, kFinish));
  EXPECT_NO_RACE(product(kBlockBarrier + kPublish, kFinish));
  EXPECT_RACE(product(kPublish, kFinish));
  EXPECT_THAT(raceOf(product(kBlockBarrier, kFinish)), HasSubstr("because no fence.proxy.async is between them"));
  // The fence must follow the write.
  EXPECT_RACE(product(kBlockBarrier + kPublish + kWriteOwn + kBlockBarrier, kFinish));
  // The product reads until the wait.
  EXPECT_RACE(product(kPublish + kBlockBarrier, kWriteOwn + kFinish));
  EXPECT_RACE(product(kPublish + kBlockBarrier, kBlockBarrier + kWriteOwn + kFinish));
  EXPECT_RACE(product(kPublish + kBlockBarrier, kFinish + kWriteOwn));
  EXPECT_NO_RACE(product(kPublish + kBlockBarrier, kFinish + kBlockBarrier + kWriteOwn + kBlockBarrier));
  // Two products run; the wait is for the first one alone.
  EXPECT_RACE(product(kPublish + kBlockBarrier,
                      kStart + "wgmma.wait_group.sync.aligned 1;\n" + kBlockBarrier + kWriteOwn + kFinish));
}
