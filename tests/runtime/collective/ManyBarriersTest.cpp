//===- ManyBarriersTest.cpp - jobs of billions of collectives -------------===//

#include "JobHelper.h"
#include "runtime/collective/shm/ShmCommunicator.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace spmd;
using namespace spmd::test;

namespace {

constexpr int64_t kDevices = 3;

/// Sets the barriers of all devices to the state after `passed` of them, a multiple of the ring's size. For one device,
/// before others use the group.
void skipBarriers(shm::GroupState &group, uint64_t passed) {
  for (std::atomic<uint32_t> &arrived : group.shared->arrived)
    arrived.store(static_cast<uint32_t>(kDevices * (passed / shm::barrierRing)));
}

CollectiveDesc sumOf(int64_t size) {
  CollectiveDesc desc;
  desc.kind = CollectiveKind::AllReduce;
  desc.axes = {{"a"}};
  desc.operandShape = desc.resultShape = {size};
  return desc;
}

// Arrivals at barriers are counted in 32 bits, which a job of a few days uses up: at 20,000 barriers a second after 60
// hours. With three devices no power of two hides that. One of them comes late to each call, so that the others read
// old data where they do not wait.
TEST(ManyBarriers, DevicesWaitBeyondTheSizeOfTheCounters) {
  MeshShape mesh{{{"a", kDevices}}};
  for (int64_t size : {int64_t(8), int64_t(100'000)}) { // In the record, and by slices.
    auto outcomes = runJob({static_cast<int>(kDevices), 1}, [&](DeviceContext &context) {
      uint64_t passed = (uint64_t(1) << 32) - shm::barrierRing;
      auto &endpoint = dynamic_cast<shm::ShmEndpoint &>(*context.endpoint);
      shm::GroupState &group = endpoint.groupFor({0, 1, 2});
      group.nextBarrier = passed;
      if (context.position == 0)
        skipBarriers(group, passed);
      signalPoint(currentJob(), 0);
      awaitPoint(currentJob(), 0, kDevices);
      std::vector<char> failures;
      for (int call = 0; call < 100; ++call) {
        if (call % kDevices == context.position)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::vector<float> own(static_cast<size_t>(size), static_cast<float>(call * (context.position + 1)));
        std::vector<char> operand(own.size() * sizeof(float));
        std::memcpy(operand.data(), own.data(), operand.size());
        std::vector<char> bytes = context.call(mesh, sumOf(size), operand, {.step = 1, .location = {"x.spmd", 1, 1}});
        std::memcpy(own.data(), bytes.data(), bytes.size());
        if (std::any_of(own.begin(), own.end(), [&](float sum) { return sum != static_cast<float>(6 * call); }))
          failures.push_back(static_cast<char>(call));
      }
      return failures;
    });
    for (const Outcome &outcome : outcomes) {
      EXPECT_EQ(outcome.error, "");
      EXPECT_TRUE(outcome.bytes.empty()) << size << " elements: the first wrong call is " << int(outcome.bytes[0]);
    }
  }
}

} // namespace
