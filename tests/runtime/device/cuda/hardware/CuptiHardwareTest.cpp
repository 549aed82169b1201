//===- CuptiHardwareTest.cpp - CUPTI's records of a GPU -------------------===//

#include "runtime/device/cuda/Cupti.h"
#include "tests/runtime/device/cuda/hardware/Machine.h"

#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <thread>

using namespace spmd;
using namespace spmd::cuda;

namespace {

class CuptiHardware : public HardwareTest {
protected:
  void SetUp() override {
    HardwareTest::SetUp();
    if (IsSkipped())
      return;
    std::string whyNot = "there is no CUPTI";
    if (std::shared_ptr<Cupti> cupti = machine->library.getCupti())
      session = cupti->start(whyNot);
    if (!session)
      GTEST_SKIP() << whyNot;
  }

  static int64_t nowNs() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  void fill(Stream stream, DevicePointer target, size_t bytes) {
    machine->driver.check(machine->driver.MemsetD8Async(target, 7, bytes, stream), "cuMemsetD8Async");
  }
  void wait(Stream stream) { machine->driver.check(machine->driver.StreamSynchronize(stream), "cuStreamSynchronize"); }

  std::shared_ptr<const Cupti::Session> session;
};

// A kernel of ours, a product by cuBLASLt where it is found, a memset and a copy: each has its times, in their order,
// on the clock of the host.
TEST_F(CuptiHardware, WorkOfRegions) {
  constexpr int64_t kSize = 512;
  const MatmulShape shape{.m = kSize, .n = kSize, .k = kSize};
  std::vector<char> matrix(kSize * kSize * sizeof(float));
  DevicePointer lhs = machine->upload(matrix), rhs = machine->upload(matrix), result = machine->upload(matrix);
  machine->library.prepare(shape);
  std::unique_ptr<CublasLtProduct> product = CublasLtProduct::create(machine->library.getBlas(), shape);
  DevicePointer scratch = product ? machine->upload(std::vector<char>(product->getScratchBytes())) : 0;
  wait(machine->stream);
  for (int repeat = 0; repeat < 3; ++repeat) {
    int64_t began = nowNs();
    CuptiRun run(session, machine->gpu.getContext(), nullptr);
    std::vector<uint32_t> regions = {0, 1, 2};
    run.enter(0);
    machine->library.multiply(shape, machine->stream, lhs, rhs, result);
    run.leave();
    run.enter(1);
    fill(machine->stream, lhs, matrix.size());
    run.leave();
    run.enter(2);
    machine->driver.check(machine->driver.MemcpyDtoDAsync(rhs, lhs, matrix.size(), machine->stream),
                          "cuMemcpyDtoDAsync");
    run.leave();
    if (product) {
      regions.push_back(3);
      run.enter(3);
      product->run(machine->stream, {lhs, rhs}, result, scratch);
      run.leave();
    }
    wait(machine->stream);
    std::vector<CuptiRun::Work> work;
    ASSERT_EQ(run.finish(regions, {}, work), "");
    int64_t ended = nowNs();
    std::map<uint32_t, CuptiRun::Work> spans;
    for (const CuptiRun::Work &each : work) {
      auto [span, isNew] = spans.try_emplace(each.region, each);
      span->second.beginNs = std::min(span->second.beginNs, each.beginNs);
      span->second.endNs = std::max(span->second.endNs, each.endNs);
    }
    ASSERT_EQ(spans.size(), regions.size());
    constexpr int64_t kClockErrorNs = 100'000;
    int64_t last = began - kClockErrorNs;
    for (const auto &[region, span] : spans) {
      EXPECT_GE(span.beginNs, last) << region;
      EXPECT_GT(span.endNs, span.beginNs) << region;
      last = span.endNs;
    }
    EXPECT_LE(last, ended + kClockErrorNs);
  }
}

// As NCCL queues its kernels.
TEST_F(CuptiHardware, WorkOfAnotherThread) {
  constexpr size_t kBytes = 1 << 20;
  DevicePointer memory = machine->upload(std::vector<char>(kBytes));
  wait(machine->stream);
  Stream transfers = nullptr;
  machine->driver.check(machine->driver.StreamCreate(&transfers, kStreamNonBlocking), "cuStreamCreate");
  {
    CuptiRun run(session, machine->gpu.getContext(), transfers);
    for (uint32_t region : {4, 9}) {
      run.enter(region);
      fill(transfers, memory, kBytes);
      std::thread([&] {
        machine->gpu.makeCurrent();
        fill(transfers, memory, kBytes);
      }).join();
      run.leave();
    }
    wait(transfers);
    const std::vector<uint32_t> regions = {4, 9};
    std::vector<CuptiRun::Work> work;
    ASSERT_EQ(run.finish(regions, regions, work), "");
    std::map<uint32_t, int> counts;
    for (const CuptiRun::Work &each : work)
      ++counts[each.region];
    EXPECT_EQ(counts, (std::map<uint32_t, int>{{4, 2}, {9, 2}}));
  }
  machine->driver.check(machine->driver.StreamDestroy(transfers), "cuStreamDestroy");
}

} // namespace
