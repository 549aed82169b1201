//===- CollectivesTest.cpp - every collective against brute force ---------===//

#include "CaseHelper.h"
#include "JobHelper.h"
#include "runtime/collective/CollectiveIdentity.h"
#include "runtime/collective/Movement.h"
#include "runtime/support/Error.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::test;

namespace {

/// Runs all cases in one job and compares each device's results.
void check(const std::vector<Case> &cases, int processes, int64_t devices, int threads = 1,
           std::vector<int> hosts = {}) {
  Layout layout{processes, static_cast<int>(devices / processes)};
  layout.threadsPerDevice = threads;
  layout.hosts = std::move(hosts);
  auto outcomes = runJob(layout, [&](DeviceContext &context) {
    std::vector<char> all;
    for (const Case &c : cases) {
      auto bytes = context.call(c.mesh, c.desc, c.operands[context.position].bytes);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  });
  for (int64_t position = 0; position < devices; ++position) {
    const Outcome &outcome = outcomes[position];
    ASSERT_EQ(outcome.error, "");
    size_t offset = 0;
    for (const Case &c : cases) {
      size_t bytes = elementCount(c.desc.resultShape) * byteSize(c.desc.dtype);
      std::vector<char> actual(outcome.bytes.begin() + offset, outcome.bytes.begin() + offset + bytes);
      offset += bytes;
      Value expected = expectedResult(c.mesh, c.desc, c.operands, position);
      ASSERT_EQ(compareBytes(c.desc.dtype, actual, expected.bytes), "")
          << describeCollective(c.desc) << " into " << ::testing::PrintToString(c.desc.resultShape) << " at position "
          << position << " of " << devices << " on hosts " << ::testing::PrintToString(layout.hosts);
    }
    EXPECT_EQ(offset, outcome.bytes.size());
  }
}

class GroupSize : public ::testing::TestWithParam<int> {};

// All types, reductions and kinds, shapes that do not divide, with short and empty shards.
TEST_P(GroupSize, AllCollectivesTypesAndReductions) {
  int64_t n = GetParam();
  MeshShape mesh{{{"a", n}}};
  std::mt19937_64 random(n);
  std::vector<Case> cases;
  for (const DTypeInfo &info : kDTypes) {
    DType dtype = info.dtype;
    for (ReductionKind reduction : reductionsOf(dtype))
      for (const std::vector<int64_t> &shape :
           {std::vector<int64_t>{1}, {3}, {13, 5}, {2, 7, 3}, {5000, 5}, {3, 9001}}) {
        // Large shapes use other code paths, which are the same for all reductions.
        if (elementCount(shape) > 1000 && reduction != ReductionKind::Sum && dtype != DType::F32)
          continue;
        int32_t last = static_cast<int32_t>(shape.size()) - 1;
        cases.push_back(makeCase(mesh, CollectiveKind::AllReduce, dtype, reduction, {{"a"}}, shape, 0, random));
        cases.push_back(makeCase(mesh, CollectiveKind::ReduceScatter, dtype, reduction, {{"a"}}, shape, 0, random));
        cases.push_back(makeCase(mesh, CollectiveKind::ReduceScatter, dtype, reduction, {{"a"}}, shape, last, random));
      }
    for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::AllToAll, CollectiveKind::CollectivePermute,
                                CollectiveKind::CollectiveBroadcast})
      for (const std::vector<int64_t> &shape :
           {std::vector<int64_t>{1}, {3}, {11}, {13, 5}, {2, 7, 3}, {5003, 5}, {3, 9001}})
        for (int32_t dim = 0; dim < static_cast<int32_t>(shape.size()); ++dim)
          cases.push_back(makeCase(mesh, kind, dtype, ReductionKind::Sum, {{"a"}}, shape, dim, random));
  }
  check(cases, 1, n);
  if (n == 1)
    return;
  // One device per host; two hosts, one of which has one device; two hosts with alternating members.
  std::vector<int> hosts;
  for (int i = 0; i < n; ++i)
    hosts.push_back(n == 2 ? i : n == 6 ? i % 2 : i / 2);
  check(cases, static_cast<int>(n), n, 1, hosts);
}
INSTANTIATE_TEST_SUITE_P(Collectives, GroupSize, ::testing::Values(1, 2, 3, 4, 6, 8));

// Groups that are rows, columns, parts of axes, several axes in either order; several groups at the same time.
TEST(Collectives, GroupsOfAMesh) {
  MeshShape mesh{{{"a", 4}, {"b", 2}}};
  std::mt19937_64 random(5);
  std::vector<Case> cases;
  std::vector<std::vector<AxisRef>> axesList{{{"a"}},
                                             {{"b"}},
                                             {{"a"}, {"b"}},
                                             {{"b"}, {"a"}},
                                             {{"a", 1, 2}},
                                             {{"a", 2, 2}},
                                             {{"a", 2, 2}, {"a", 1, 2}},
                                             {{"b"}, {"a", 1, 2}}};
  for (const auto &axes : axesList)
    for (DType dtype : {DType::F32, DType::BF16, DType::I32})
      for (CollectiveKind kind :
           {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
            CollectiveKind::AllToAll, CollectiveKind::CollectivePermute, CollectiveKind::CollectiveBroadcast})
        for (const std::vector<int64_t> &shape : {std::vector<int64_t>{7, 5}, {17, 3}, {67, 103}})
          for (int32_t dim : {0, 1})
            cases.push_back(makeCase(mesh, kind, dtype, ReductionKind::Sum, axes, shape, dim, random));
  check(cases, 1, 8);
  check(cases, 4, 8);
  for (const std::vector<int> &hosts : {std::vector<int>{0, 0, 1, 1}, {0, 1, 1, 2}, {0, 1, 0, 1}, {0, 1, 2, 3}})
    check(cases, 4, 8, 1, hosts);
}

// Any mesh, any axes in any order, any hosts.
TEST(Collectives, RandomMeshesOverHosts) {
  const int64_t shapes[][3] = {{2, 2, 2}, {3, 2, 1}, {2, 3, 2}, {4, 1, 2}, {5, 1, 1}, {7, 1, 1}, {2, 1, 3}, {3, 3, 1}};
  for (uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    const auto &sizes = shapes[random() % std::size(shapes)];
    MeshShape mesh{{{"a", sizes[0]}, {"b", sizes[1]}, {"c", sizes[2]}}};
    auto devices = static_cast<int>(mesh.deviceCount());
    std::vector<int> hosts;
    int hostCount = 2 + static_cast<int>(random() % 3);
    for (int i = 0; i < devices; ++i)
      hosts.push_back(static_cast<int>(random() % hostCount));
    std::vector<Case> cases = makeRandomCases(mesh, 60, random);
    SCOPED_TRACE("seed " + std::to_string(seed));
    check(cases, devices, devices, 1, hosts);
  }
}

// The devices' own threads share the work of large operands.
TEST(Collectives, SeveralThreadsPerDevice) {
  MeshShape mesh{{{"a", 3}}};
  std::mt19937_64 random(11);
  std::vector<Case> cases;
  for (DType dtype : {DType::F32, DType::F16})
    for (CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
          CollectiveKind::CollectivePermute, CollectiveKind::CollectiveBroadcast})
      for (const std::vector<int64_t> &shape : {std::vector<int64_t>{300'003}, {503, 301}, {7, 30'001}})
        for (int32_t dim = 0; dim < static_cast<int32_t>(shape.size()); ++dim)
          cases.push_back(makeCase(mesh, kind, dtype, ReductionKind::Sum, {{"a"}}, shape, dim, random));
  check(cases, 1, 3, 3);
  check(cases, 3, 3, 3, {0, 1, 1});
}

// The bits of all reductions are the same on all layouts of processes.
TEST(Collectives, SameBitsOnAllLayouts) {
  MeshShape mesh{{{"i", 4}, {"j", 2}}};
  std::mt19937_64 random(3);
  std::vector<Case> cases;
  for (DType dtype : {DType::F32, DType::BF16, DType::F64})
    for (const auto &axes : {std::vector<AxisRef>{{"i"}, {"j"}}, {{"j"}}, {{"i"}}})
      for (int64_t size : {1, 1000, 50'000}) {
        cases.push_back(makeCase(mesh, CollectiveKind::AllReduce, dtype, ReductionKind::Sum, axes, {size}, 0, random));
        cases.push_back(
            makeCase(mesh, CollectiveKind::ReduceScatter, dtype, ReductionKind::Sum, axes, {size}, 0, random));
      }
  std::vector<Outcome> first;
  // Also on several hosts: one process each, several, random ones, and alternating.
  std::vector<Layout> layouts{{1, 8}, {2, 4}, {4, 2}, {8, 1}};
  for (const std::vector<int> &hosts : {std::vector<int>{0, 1},
                                        {0, 0, 1, 1},
                                        {0, 1, 1, 2},
                                        {0, 1, 0, 1},
                                        {0, 0, 0, 1, 1, 2, 2, 2},
                                        {0, 1, 2, 3, 4, 5, 6, 7}}) {
    layouts.push_back({static_cast<int>(hosts.size()), static_cast<int>(8 / hosts.size())});
    layouts.back().hosts = hosts;
  }
  for (const Layout &layout : layouts) {
    auto outcomes = runJob(layout, [&](DeviceContext &context) {
      std::vector<char> all;
      for (const Case &c : cases) {
        auto bytes = context.call(c.mesh, c.desc, c.operands[context.position].bytes);
        all.insert(all.end(), bytes.begin(), bytes.end());
      }
      return all;
    });
    for (int64_t position = 0; position < 8; ++position) {
      ASSERT_EQ(outcomes[position].error, "");
      if (!first.empty()) {
        EXPECT_TRUE(outcomes[position].bytes == first[position].bytes)
            << layout.processes << " processes, hosts " << ::testing::PrintToString(layout.hosts);
      }
    }
    if (first.empty())
      first = outcomes;
  }
  check(cases, 8, 8);
}

// Calls started one after another and finished later, more of them than the ring holds; over different groups.
TEST(Collectives, ManyInFlight) {
  MeshShape mesh{{{"a", 2}, {"b", 2}}};
  constexpr int count = 30;
  for (auto [size, hosts] :
       {std::pair<int64_t, std::vector<int>>{5, {}}, {20'000, {}}, {5, {0, 1}}, {20'000, {0, 1}}}) {
    Layout layout{2, 2};
    layout.hosts = hosts;
    auto outcomes = runJob(layout, [&, size = size](DeviceContext &context) {
      std::vector<std::unique_ptr<CollectiveCall>> calls;
      std::vector<DeviceBufferRef> operands, results;
      for (int i = 0; i < count; ++i) {
        CollectiveDesc desc;
        desc.axes = {{i % 3 == 0 ? "a" : "b"}};
        desc.operandShape = desc.resultShape = {size};
        calls.push_back(context.endpoint->prepare(mesh, desc, {.step = i, .isAsync = true}));
        operands.push_back(context.device->allocate(size * 4));
        results.push_back(context.device->allocate(size * 4));
      }
      for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < count; ++i) {
          std::fill_n(static_cast<float *>(operands[i]->data()), size, float(context.position * 100 + i + round));
          calls[i]->start(operands[i]->data(), results[i]->data());
        }
        // Finished in reverse order.
        for (int i = count; i-- > 0;)
          calls[i]->done();
        for (int i = 0; i < count; ++i) {
          int64_t partner = i % 3 == 0 ? context.position ^ 2 : context.position ^ 1;
          float expected = float(context.position * 100 + i + round) + float(partner * 100 + i + round);
          for (int64_t j = 0; j < size; ++j)
            if (static_cast<float *>(results[i]->data())[j] != expected)
              throw Error("wrong sum in call " + std::to_string(i));
        }
      }
      return std::vector<char>();
    });
    for (auto &outcome : outcomes)
      EXPECT_EQ(outcome.error, "");
  }
}

// all_reduce in place, and from and into memory that is not device memory.
TEST(Collectives, InPlaceAndOutsideMemory) {
  MeshShape mesh{{{"a", 3}}};
  for (auto [size, hosts] : {std::pair<int64_t, std::vector<int>>{10, {}},
                             {30'000, {}},
                             {10, {0, 1, 1}},
                             {30'000, {0, 1, 1}},
                             {30'000, {0, 1, 2}}}) {
    Layout layout{3, 1};
    layout.hosts = hosts;
    auto outcomes = runJob(layout, [&, size = size](DeviceContext &context) {
      CollectiveDesc desc;
      desc.axes = {{"a"}};
      desc.operandShape = desc.resultShape = {size};
      auto call = context.endpoint->prepare(mesh, desc, {});
      auto inside = context.device->allocate(size * 4);
      std::vector<float> outside(size), target(size);
      auto *data = static_cast<float *>(inside->data());
      for (int64_t i = 0; i < size; ++i)
        data[i] = outside[i] = float(context.position * i);
      call->start(data, data);
      call->done();
      call->start(outside.data(), target.data());
      call->done();
      call->start(outside.data(), outside.data());
      call->done();
      for (int64_t i = 0; i < size; ++i)
        if (data[i] != float(3 * i) || target[i] != float(3 * i) || outside[i] != float(3 * i))
          throw Error("wrong sum at " + std::to_string(i));
      return std::vector<char>();
    });
    for (auto &outcome : outcomes)
      EXPECT_EQ(outcome.error, "");
  }
}

// Inconsistent descriptions are refused when they are prepared.
TEST(Movement, RefusesContradictions) {
  MeshShape mesh{{{"a", 2}}};
  auto expectError = [&](CollectiveDesc desc, const char *text) {
    try {
      computeMovement(mesh, desc, 0);
      ADD_FAILURE() << "no error for " << text;
    } catch (const Error &error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  CollectiveDesc gather;
  gather.kind = CollectiveKind::AllGather;
  gather.axes = {{"a"}};
  gather.operandShape = {3};
  gather.resultShape = {7};
  gather.concatDim = 0;
  expectError(gather, "all_gather f32[3] over (a): the operand has shape [3] but must have [4]");
  gather.concatDim = 1;
  expectError(gather, "the concatenated dimension 1 does not exist");
  gather.axes = {{"z"}};
  expectError(gather, "the mesh has no axis 'z'");
  CollectiveDesc permute;
  permute.kind = CollectiveKind::CollectivePermute;
  permute.axes = {{"a"}};
  permute.pairs = {{0, 1}, {1, 1}};
  expectError(permute, "position 1 receives twice");
  permute.pairs = {{0, 2}};
  expectError(permute, "the pair (0, 2) is outside the group of 2");
  CollectiveDesc broadcast;
  broadcast.kind = CollectiveKind::CollectiveBroadcast;
  broadcast.axes = {{"a"}};
  broadcast.root = 2;
  expectError(broadcast, "the root 2 is outside the group of 2");
}

} // namespace
