//===- CuptiRunTest.cpp - records of device work, by run ------------------===//
//
// Memsets of emulated GPUs, each of which takes a microsecond as CUPTI tells it.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/cuda/StepTrace.h"
#include "tests/runtime/exec/cuda/GpuJobHelper.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <thread>

using namespace spmd;
using namespace spmd::test;
using cuda::CuptiRun;
using cuda::FakeCupti;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

namespace {

int64_t nowNs() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A device with some memory, and a session for it.
class CuptiDevice {
public:
  CuptiDevice(GpuJob &job, int64_t id) : device(job.getDevice(id)), driver(device.getGpu().getDriver()) {
    device.getGpu().makeCurrent();
    memory = device.allocate(64);
    std::string whyNot;
    session = job.getCupti().getCupti()->start(whyNot);
    EXPECT_EQ(whyNot, "");
  }

  std::unique_ptr<CuptiRun> begin(cuda::Stream transfers = nullptr) {
    return std::make_unique<CuptiRun>(session, device.getGpu().getContext(), transfers);
  }
  void fill(cuda::Stream stream) {
    auto address = reinterpret_cast<cuda::DevicePointer>(memory->data());
    EXPECT_EQ(driver.MemsetD8Async(address, 7, 64, stream), cuda::kSuccess);
  }
  void fill() { fill(device.getStream()); }
  void wait() { EXPECT_EQ(driver.StreamSynchronize(device.getStream()), cuda::kSuccess); }

  CudaDevice &device;
  const cuda::Driver &driver;
  DeviceBufferRef memory;
  std::shared_ptr<const cuda::Cupti::Session> session;
};

/// Fills memory in three regions, and returns what `finish` does.
std::string fillThrice(GpuJob &job, std::vector<CuptiRun::Work> &work) {
  CuptiDevice device(job, 0);
  auto run = device.begin();
  const std::vector<uint32_t> regions = {3, 5, 8};
  for (uint32_t region : regions) {
    run->enter(region);
    device.fill();
    run->leave();
  }
  device.wait();
  return run->finish(regions, {}, work);
}

TEST(CuptiRun, WorkBelongsToTheInnermostRegion) {
  for (uint64_t seed = 1; seed <= 20; ++seed)
    for (bool sharesBuffers : {false, true}) {
      GpuJob job(1, {.seed = seed, .hasCupti = true, .cupti = {.seed = seed, .sharesBuffers = sharesBuffers}});
      CuptiDevice device(job, 0);
      int64_t began = nowNs();
      auto run = device.begin();
      device.fill(); // In no region.
      run->enter(4);
      device.fill();
      run->enter(5);
      device.fill();
      device.fill();
      run->leave();
      run->leave();
      run->enter(9); // Without work.
      run->leave();
      device.wait();
      std::vector<CuptiRun::Work> work;
      ASSERT_EQ(run->finish(std::vector<uint32_t>{4, 5}, {}, work), "");
      std::sort(work.begin(), work.end(),
                [](const auto &one, const auto &other) { return one.beginNs < other.beginNs; });
      std::vector<uint32_t> regions;
      for (const CuptiRun::Work &each : work) {
        regions.push_back(each.region);
        EXPECT_NEAR(static_cast<double>(each.endNs - each.beginNs), 1000, 2);
        EXPECT_GE(each.beginNs, began - 1'000'000);
        EXPECT_LE(each.endNs, nowNs() + 1'000'000);
      }
      EXPECT_THAT(regions, ElementsAre(4, 5, 5));
    }
}

TEST(CuptiRun, RunsOfTwoDevicesAtOnce) {
  GpuJob job(2, {.hasCupti = true, .cupti = {.bufferBytes = 600}});
  auto fillOften = [&](int64_t id) {
    for (int repeat = 0; repeat < 5; ++repeat) {
      CuptiDevice device(job, id);
      auto run = device.begin();
      std::vector<uint32_t> regions;
      for (uint32_t region = 0; region < 50; ++region) {
        regions.push_back(region);
        run->enter(region);
        for (int64_t i = 0; i <= id; ++i)
          device.fill();
        run->leave();
      }
      device.wait();
      std::vector<CuptiRun::Work> work;
      EXPECT_EQ(run->finish(regions, {}, work), "");
      EXPECT_EQ(work.size(), 50 * static_cast<size_t>(id + 1));
    }
  };
  std::thread other(fillOften, 1);
  fillOften(0);
  other.join();
  EXPECT_GT(job.getCupti().countBuffers(), 10);
  EXPECT_FALSE(job.getCupti().isRecording()) << "no session is left";
}

// NCCL queues its kernels on threads of its own, which are in no region.
TEST(CuptiRun, WorkOfOtherThreadsBelongsToTheTransferBeforeIt) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    GpuJob job(2, {.seed = seed, .hasCupti = true, .cupti = {.seed = seed}});
    CuptiDevice device(job, 0), neighbour(job, 1);
    device.device.getGpu().makeCurrent();
    cuda::Stream transfers = nullptr;
    ASSERT_EQ(device.driver.StreamCreate(&transfers, cuda::kStreamNonBlocking), cuda::kSuccess);
    {
      auto run = device.begin(transfers);
      auto queueElsewhere = [&](CuptiDevice &on, cuda::Stream stream) {
        std::thread([&] {
          on.device.getGpu().makeCurrent();
          on.fill(stream);
        }).join();
      };
      queueElsewhere(device, transfers); // Before any transfer.
      for (uint32_t region : {2, 6}) {
        run->enter(region);
        device.fill(transfers);
        queueElsewhere(neighbour, neighbour.device.getStream()); // Of no run.
        queueElsewhere(device, transfers);
        run->leave();
        run->enter(region + 1);
        device.fill(device.device.getStream());
        run->leave();
      }
      device.wait();
      neighbour.wait();
      EXPECT_EQ(device.driver.StreamSynchronize(transfers), cuda::kSuccess);
      std::vector<CuptiRun::Work> work;
      ASSERT_EQ(run->finish(std::vector<uint32_t>{3, 7}, std::vector<uint32_t>{2, 6}, work), "");
      std::vector<uint32_t> regions;
      for (const CuptiRun::Work &each : work)
        regions.push_back(each.region);
      EXPECT_THAT(regions, UnorderedElementsAre(2, 2, 3, 6, 6, 7));
    }
    EXPECT_EQ(device.driver.StreamDestroy(transfers), cuda::kSuccess);
  }
}

// One of two runs is open all the time.
TEST(CuptiRun, WorkOfNoRunIsForgotten) {
  GpuJob job(1, {.hasCupti = true});
  CuptiDevice device(job, 0);
  auto run = device.begin();
  for (int repeat = 0; repeat < 20; ++repeat) {
    for (int i = 0; i < 10; ++i)
      device.fill();
    device.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(2)); // Longer than the error of CUPTI's clock.
    auto next = device.begin();
    std::vector<CuptiRun::Work> work;
    EXPECT_EQ(run->finish({}, {}, work), "");
    EXPECT_TRUE(work.empty());
    run = std::move(next);
    EXPECT_LE(job.getCupti().getCupti()->countPending(), 20u);
  }
}

TEST(CuptiRun, RecordsThatAreLostOrDamaged) {
  using enum FakeCupti::Fault;
  for (auto [fault, expected] :
       {std::pair(Dropped, "CUPTI dropped records"), std::pair(Missing, "CUPTI did not deliver all records"),
        std::pair(NoTime, "CUPTI could not measure a kernel or copy"),
        std::pair(EndBeforeBegin, "CUPTI could not measure a kernel or copy"),
        std::pair(OtherTime, "CUPTI's times are not those of the run"),
        std::pair(Size, "CUPTI delivered a damaged record"), std::pair(Validity, "CUPTI delivered a damaged buffer")}) {
    GpuJob job(1, {.hasCupti = true});
    job.getCupti().fail(fault, 2);
    std::vector<CuptiRun::Work> work;
    EXPECT_EQ(fillThrice(job, work), expected);
    EXPECT_TRUE(work.empty());
    EXPECT_EQ(fillThrice(job, work), "") << "the next run works";
    EXPECT_EQ(work.size(), 3u);
  }
}

TEST(CuptiRun, ARunThatIsBrokenOffLeavesItsRegions) {
  GpuJob job(1, {.hasCupti = true});
  CuptiDevice device(job, 0);
  {
    auto run = device.begin();
    run->enter(1);
    run->enter(2);
    device.fill();
  }
  device.wait();
  std::vector<CuptiRun::Work> work;
  EXPECT_EQ(fillThrice(job, work), "");
  EXPECT_EQ(work.size(), 3u);
}

TEST(Cupti, IsNotAskedAgainAfterItRefused) {
  GpuJob job(1, {.hasCupti = true});
  job.getCupti().refuse(cuda::kCuptiTakenByOther);
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::string whyNot;
    EXPECT_EQ(job.getCupti().getCupti()->start(whyNot), nullptr);
    EXPECT_EQ(whyNot, "another tool uses CUPTI");
    job.getCupti().refuse(cuda::kCuptiSuccess);
  }
}

TEST(Cupti, ALibraryThatLacksAFunction) {
  void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  cuda::CuptiEntries entries;
  EXPECT_EQ(entries.resolve(library), "cuptiGetVersion");
}

TEST(StepTrace, TimesBecomeOrdered) {
  auto order = [](std::vector<int64_t> times, const std::vector<bool> &fixed) {
    orderTimes(times, fixed);
    return times;
  };
  EXPECT_THAT(order({1, 5, 3, 9}, {false, false, false, false}), ElementsAre(1, 5, 5, 9));
  // A time that is not fixed gives way, on both sides.
  EXPECT_THAT(order({20, 10, 15, 12, 30}, {false, true, true, false, true}), ElementsAre(10, 10, 15, 15, 30));
  EXPECT_THAT(order({20, 40, 35}, {true, false, true}), ElementsAre(20, 35, 35));
  EXPECT_THAT(order({20, 10, 30}, {true, true, true}), ElementsAre(20, 20, 30));
  EXPECT_THAT(order({}, {}), ElementsAre());
}

} // namespace
