//===- GpuCollectiveTest.cpp - collectives of GPUs alone ------------------===//
//
// GpuCollective on emulated GPUs with the fake NCCL, against the brute force that is also the reference of the CPUs'
// collectives (tests/runtime/collective).
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/nccl/GpuCollective.h"
#include "CaseHelper.h"
#include "runtime/collective/CollectiveIdentity.h"
#include "runtime/support/Error.h"
#include "tests/runtime/exec/cuda/GpuJobHelper.h"

#include <future>
#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::test;

namespace {

/// Runs all cases in one job, each device on its own thread.
class CollectiveRun {
public:
  CollectiveRun(int64_t count, uint64_t seed) : job(count, {.transport = Transport::Nccl, .seed = seed}) {}

  /// Returns results by position and case.
  std::vector<std::vector<std::vector<char>>> run(const std::vector<Case> &cases) {
    std::vector<std::vector<std::vector<char>>> results(job.getDevices().size());
    std::vector<std::promise<std::string>> ends(results.size());
    for (size_t position = 0; position < results.size(); ++position)
      job.getDevices()[position]->enqueue([&, position] {
        try {
          for (const Case &c : cases)
            results[position].push_back(runOne(c, static_cast<int64_t>(position)));
          ends[position].set_value("");
        } catch (const Error &error) {
          ends[position].set_value(error.what());
        }
      });
    for (std::promise<std::string> &end : ends)
      EXPECT_EQ(end.get_future().get(), "");
    return results;
  }

private:
  std::vector<char> runOne(const Case &c, int64_t position) {
    CudaDevice &device = job.getDevice(position);
    device.getGpu().makeCurrent();
    std::vector<int64_t> ids(job.getDevices().size());
    for (size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<int64_t>(i);
    constexpr std::chrono::seconds timeout(60);
    auto group = job.getTransport()->group(ids, timeout);
    cuda::GpuCollective collective(*group, group->join(position, timeout), device, c.mesh, c.desc, position);
    const std::vector<char> &operand = c.operands[static_cast<size_t>(position)].bytes;
    auto allocate = [&](int64_t bytes) { return static_cast<Device &>(device).allocate(std::max<int64_t>(bytes, 1)); };
    auto address = [](const DeviceBufferRef &buffer) { return reinterpret_cast<cuda::DevicePointer>(buffer->data()); };
    DeviceBufferRef from = allocate(static_cast<int64_t>(operand.size()));
    int64_t bytes = byteSize(c.desc.dtype);
    for (int64_t size : c.desc.resultShape)
      bytes *= size;
    DeviceBufferRef to = allocate(bytes), scratch = allocate(collective.getScratchBytes());
    static_cast<Device &>(device).copyFromHost(*from, operand.data(), static_cast<int64_t>(operand.size()));
    collective.run(device.getStream(), address(from), address(to), address(scratch));
    std::vector<char> result(static_cast<size_t>(bytes));
    static_cast<Device &>(device).copyToHost(result.data(), *to, bytes);
    return result;
  }

  GpuJob job;
};

void check(const std::vector<Case> &cases, int64_t devices, uint64_t seed) {
  auto results = CollectiveRun(devices, seed).run(cases);
  for (size_t position = 0; position < results.size(); ++position) {
    ASSERT_EQ(results[position].size(), cases.size());
    for (size_t i = 0; i < cases.size(); ++i) {
      const Case &c = cases[i];
      Value expected = expectedResult(c.mesh, c.desc, c.operands, static_cast<int64_t>(position));
      ASSERT_EQ(compareBytes(c.desc.dtype, results[position][i], expected.bytes), "")
          << describeCollective(c.desc) << " into " << testing::PrintToString(c.desc.resultShape) << " at position "
          << position << " of " << devices;
    }
  }
}

class GpuCollectives : public testing::TestWithParam<int> {};

// All types, reductions and kinds, with sizes that do not divide and empty shards.
TEST_P(GpuCollectives, AllKindsTypesAndReductions) {
  int64_t n = GetParam();
  MeshShape mesh{{{"a", n}}};
  std::mt19937_64 random(static_cast<uint64_t>(n));
  std::vector<Case> cases;
  for (DType dtype : elementTypes()) {
    for (ReductionKind reduction : reductionsOf(dtype))
      for (const std::vector<int64_t> &shape : {std::vector<int64_t>{1}, {13, 5}, {2, 7, 3}}) {
        int32_t last = static_cast<int32_t>(shape.size()) - 1;
        cases.push_back(makeCase(mesh, CollectiveKind::AllReduce, dtype, reduction, {{"a"}}, shape, 0, random));
        cases.push_back(makeCase(mesh, CollectiveKind::ReduceScatter, dtype, reduction, {{"a"}}, shape, 0, random));
        cases.push_back(makeCase(mesh, CollectiveKind::ReduceScatter, dtype, reduction, {{"a"}}, shape, last, random));
      }
    for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::AllToAll, CollectiveKind::CollectivePermute,
                                CollectiveKind::CollectiveBroadcast})
      for (const std::vector<int64_t> &shape : {std::vector<int64_t>{1}, {11}, {2, 7, 3}})
        for (int32_t dim = 0; dim < static_cast<int32_t>(shape.size()); ++dim)
          cases.push_back(makeCase(mesh, kind, dtype, ReductionKind::Sum, {{"a"}}, shape, dim, random));
  }
  check(cases, n, static_cast<uint64_t>(n));
}

// In two rounds: more than 64 KiB, in slices that do not divide.
TEST_P(GpuCollectives, LargeReductions) {
  int64_t n = GetParam();
  MeshShape mesh{{{"a", n}}};
  std::mt19937_64 random(static_cast<uint64_t>(n));
  std::vector<Case> cases;
  for (auto [dtype, elements] : {std::pair(DType::F32, 16'385), {DType::BF16, 33'333}, {DType::I64, 8'200}})
    for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter})
      cases.push_back(makeCase(mesh, kind, dtype, ReductionKind::Sum, {{"a"}}, {elements}, 0, random));
  check(cases, n, static_cast<uint64_t>(n));
}

INSTANTIATE_TEST_SUITE_P(Sizes, GpuCollectives, testing::Values(1, 2, 3, 4, 6));

// Groups that are rows, columns, parts of axes, and several axes in either order.
TEST(GpuCollectivesOfMeshes, RandomGroups) {
  const int64_t shapes[][3] = {{3, 2, 1}, {2, 2, 2}, {4, 1, 2}, {2, 3, 1}};
  for (uint64_t seed = 0; seed < 6; ++seed) {
    std::mt19937_64 random(seed);
    const auto &sizes = shapes[random() % std::size(shapes)];
    MeshShape mesh{{{"a", sizes[0]}, {"b", sizes[1]}, {"c", sizes[2]}}};
    std::vector<Case> cases = makeRandomCases(mesh, 40, random);
    // The comparison does not depend on the size; the emulator's time does.
    std::erase_if(cases, [](const Case &c) { return c.operands[0].bytes.size() > 8000; });
    SCOPED_TRACE("seed " + std::to_string(seed));
    check(cases, mesh.deviceCount(), seed);
  }
}

} // namespace
