//===- CpuDeviceTest.cpp - the device thread and its loops ----------------===//

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/support/Error.h"
#include "runtime/support/Process.h"
#include "tests/support/FewThreads.h"
#include "tests/support/Messages.h"

#include <future>
#include <gtest/gtest.h>
#include <numeric>
#include <sched.h>
#include <thread>

using namespace spmd;

namespace {

// Every iteration runs exactly once, in chunks no shorter than the grain, for any number of threads.
TEST(ParallelFor, RunsEachIterationOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ParallelFor loop(threads, std::chrono::microseconds(5));
    for (int64_t extent : {0, 1, 7, 64, 1000, 100'003}) {
      for (int64_t grain : {1, 16, 5000}) {
        std::vector<std::atomic<int>> count(extent);
        std::atomic<int> shortPieces{0};
        loop.run(extent, grain, [&](int64_t begin, int64_t end, int thread) {
          ASSERT_LT(thread, threads);
          if (end - begin < grain)
            ++shortPieces;
          for (int64_t i = begin; i < end; ++i)
            ++count[i];
        });
        for (int64_t i = 0; i < extent; ++i)
          ASSERT_EQ(count[i], 1) << threads << " threads, extent " << extent << ", iteration " << i;
        EXPECT_LE(shortPieces, 1);
      }
    }
  }
}

// Many short loops after one another, with and without pauses that let the helpers sleep.
TEST(ParallelFor, WakesSleepingHelpers) {
  ParallelFor loop(4, std::chrono::nanoseconds(0));
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 2000; ++i)
    loop.run(64, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
  EXPECT_EQ(sum, 2000 * 64);
}

/// Lets the calling thread use one core only, with this policy; threads that it starts inherit both.
bool useOneCore(int core, int policy) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_param none{};
  return sched_setaffinity(0, sizeof one, &one) == 0 && sched_setscheduler(0, policy, &none) == 0;
}

// A helper gets its core late where other processes use it, too. Here it gets some thousandth of the core that it
// shares with the caller and another thread that always runs: 2,000 loops that wait for it take minutes.
TEST(ParallelFor, DoesNotWaitForHelpersWithoutACore) {
  bool isPossible = true;
  std::atomic<int64_t> sum{0};
  std::chrono::steady_clock::duration time{};
  std::thread([&] { // A thread of its own: its core and policy end with it.
    int core = sched_getcpu();
    if (!(isPossible = useOneCore(core, SCHED_IDLE)))
      return;
    ParallelFor loop(2, std::chrono::microseconds(5));
    if (!(isPossible = useOneCore(core, SCHED_OTHER)))
      return;
    std::atomic<bool> isOver{false};
    std::thread busy([&] {
      while (!isOver)
        sum += 0;
    });
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 2000; ++i)
      loop.run(64, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
    time = std::chrono::steady_clock::now() - start;
    isOver = true;
    busy.join();
  })
      .join();
  if (!isPossible)
    GTEST_SKIP() << "this system does not let a thread choose its core and policy";
  EXPECT_EQ(sum, 2000 * 64);
  EXPECT_LT(time, std::chrono::seconds(20));
}

// Helpers that have started must be ended: no other object knows of them.
TEST(ParallelFor, EndsTheHelpersItHasWhereThereAreNoMore) {
  {
    test::FewThreads enough(4);
    EXPECT_EQ(ParallelFor(5, std::chrono::nanoseconds(0)).getThreadCount(), 5);
  }
  EXPECT_EQ(test::messageOf([] {
              test::FewThreads few(2);
              ParallelFor loop(5, std::chrono::nanoseconds(0));
            }).substr(0, 70),
            "cannot start the thread spmd-loop: Resource temporarily unavailable; `");
}

void addKernel(int64_t begin, int64_t end, void *const *buffers, const int64_t *coordinates) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[i] + float(coordinates[1]);
}

TEST(ParallelFor, RunsKernelsByTheirCallingConvention) {
  ParallelFor loop(2, std::chrono::nanoseconds(0));
  std::vector<float> in(1000), out(1000);
  std::iota(in.begin(), in.end(), 0.0f);
  void *buffers[] = {in.data(), out.data()};
  int64_t coordinates[] = {7, 3};
  loop.runKernel(addKernel, 1000, 10, buffers, coordinates);
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(out[i], float(i + 3));
}

TEST(CpuDevice, RunsWorkInOrderOnOneThread) {
  auto devices = createCpuDevices({4}, {});
  EXPECT_EQ(devices[0]->str(), "cpu:4");
  std::vector<int> order;
  std::promise<void> done;
  for (int i = 0; i < 1000; ++i)
    devices[0]->enqueue([&, i] { order.push_back(i); });
  devices[0]->enqueue([&] { done.set_value(); });
  done.get_future().wait();
  std::vector<int> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

// Queued work is done before the device is destroyed.
TEST(CpuDevice, FinishesItsQueueBeforeItEnds) {
  std::atomic<int> count{0};
  {
    auto devices = createCpuDevices({0, 1}, {.hostDeviceCount = 2});
    for (int i = 0; i < 100; ++i)
      for (auto &device : devices)
        device->enqueue([&] { ++count; });
  }
  EXPECT_EQ(count, 200);
}

// The last reference may be dropped on the device's own thread.
TEST(CpuDevice, MayEndOnItsOwnThread) {
  std::promise<void> go;
  std::weak_ptr<Device> watch;
  {
    auto devices = createCpuDevices({0}, {});
    watch = devices[0];
    DeviceRef device = devices[0];
    device->enqueue([device, wait = go.get_future().share()] { wait.wait(); });
  }
  EXPECT_FALSE(watch.expired());
  go.set_value();
  while (!watch.expired())
    std::this_thread::yield();
}

TEST(CpuDevice, SharesTheCoresOfTheHost) {
  int cores = availableCores();
  EXPECT_EQ(threadsPerCpuDevice({.hostDeviceCount = 1}), cores);
  EXPECT_EQ(threadsPerCpuDevice({.hostDeviceCount = cores}), 1);
  EXPECT_EQ(threadsPerCpuDevice({.hostDeviceCount = 3 * cores}), 1);
  EXPECT_EQ(threadsPerCpuDevice({.hostDeviceCount = 8, .threadsPerDevice = 3}), 3);
}

TEST(CpuDevice, BuffersOutliveTheDevice) {
  DeviceBufferRef buffer;
  {
    auto devices = createCpuDevices({0}, {});
    buffer = devices[0]->allocate(100);
    int value = 42, back = 0;
    devices[0]->copyFromHost(*buffer, &value, 4, 96);
    devices[0]->copyToHost(&back, *buffer, 4, 96);
    EXPECT_EQ(back, 42);
    EXPECT_THROW(devices[0]->copyFromHost(*buffer, &value, 4, 97), Error);
    EXPECT_GE(devices[0]->bytesInUse(), 100);
  }
  EXPECT_EQ(*reinterpret_cast<int *>(static_cast<char *>(buffer->data()) + 96), 42);
}

// As an empty std::vector passes it; UBSan detects if it is used as an address.
TEST(CpuDevice, CopiesNothingFromAndToNowhere) {
  auto devices = createCpuDevices({0}, {});
  DeviceBufferRef buffer = devices[0]->allocate(0);
  EXPECT_NO_THROW(devices[0]->copyFromHost(*buffer, nullptr, 0, 0));
  EXPECT_NO_THROW(devices[0]->copyToHost(nullptr, *buffer, 0, 0));
}

TEST(CpuDevice, AdoptedMemoryKeepsItsOwner) {
  auto devices = createCpuDevices({0}, {});
  auto owner = std::make_shared<std::vector<float>>(10, 1.5f);
  std::weak_ptr<std::vector<float>> watch = owner;
  DeviceBufferRef buffer = devices[0]->adopt(owner->data(), 40, owner);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(static_cast<float *>(buffer->data())[9], 1.5f);
  buffer.reset();
  EXPECT_TRUE(watch.expired());
}

} // namespace
