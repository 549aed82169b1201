//===- AsyncTest.cpp - collectives while the device works -----------------===//

#include "CaseHelper.h"
#include "JobHelper.h"
#include "runtime/support/Error.h"
#include "tests/support/TimeLimit.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace spmd;
using namespace spmd::test;

namespace {

using std::chrono::milliseconds;

Layout onHosts(std::vector<int> hosts) {
  Layout layout{static_cast<int>(hosts.size()), 1};
  layout.hosts = std::move(hosts);
  return layout;
}

CollectiveDesc describe(CollectiveKind kind, const MeshShape &mesh, int64_t size) {
  CollectiveDesc desc;
  desc.kind = kind;
  desc.axes = {{"a"}};
  desc.concatDim = 0;
  desc.operandShape = {size};
  desc.resultShape = {kind == CollectiveKind::AllGather ? size * mesh.deviceCount() : size};
  return desc;
}

CallSite asyncAt(int line) { return {.step = line, .location = {"x.spmd", line, 5}, .isAsync = true}; }

/// One call of a device, with its memory.
struct Call {
  Call(DeviceContext &context, const MeshShape &mesh, const CollectiveDesc &desc, const CallSite &site)
      : operand(context.device->allocate(elementCount(desc.operandShape) * byteSize(desc.dtype))),
        result(context.device->allocate(elementCount(desc.resultShape) * byteSize(desc.dtype))),
        call(context.endpoint->prepare(mesh, desc, site)) {
    std::memset(operand->data(), 0, operand->bytes());
    std::memset(result->data(), 0xcd, result->bytes());
  }
  void start() { call->start(operand->data(), result->data()); }

  DeviceBufferRef operand, result;
  std::unique_ptr<CollectiveCall> call;
};

// Results arrive although no device waits: for sums and moves, small and large, and calls that begin after others.
TEST(Async, ResultsArriveWithoutAWait) {
  MeshShape mesh{{{"a", 4}}};
  for (const Layout &layout : {onHosts({0, 1, 2, 3}), onHosts({0, 0, 1, 1})})
    for (int64_t size : {100, 3'000'000}) {
      auto outcomes = runJob(layout, [&](DeviceContext &context) {
        std::vector<Call> calls;
        for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::AllReduce})
          calls.emplace_back(context, mesh, describe(kind, mesh, size), asyncAt(static_cast<int>(kind)));
        for (Call &call : calls) {
          std::fill_n(static_cast<float *>(call.operand->data()), size, float(context.position + 1));
          call.start();
        }
        // The last element that the collective writes; the device's own computation does not touch it.
        auto deadline = std::chrono::steady_clock::now() + timeLimit(std::chrono::seconds(10));
        // It looks on while another thread writes, which is what the thread sanitizer is to report elsewhere.
        auto lastOf = [](Call &call) __attribute__((no_sanitize("thread"))) {
          auto *data = static_cast<const volatile float *>(call.result->data());
          return data[call.result->bytes() / 4 - 1];
        };
        while (lastOf(calls[0]) != 4 || lastOf(calls[1]) != 10) {
          if (std::chrono::steady_clock::now() > deadline)
            throw Error("nothing came");
          std::this_thread::sleep_for(milliseconds(1));
        }
        for (Call &call : calls)
          call.call->done();
        auto *sums = static_cast<const float *>(calls[1].result->data());
        if (std::count(sums, sums + size, 10.0f) != size)
          throw Error("wrong sum");
        return std::vector<char>();
      });
      for (const Outcome &outcome : outcomes)
        EXPECT_EQ(outcome.error, "");
    }
}

// All kinds, over groups within hosts and across, some finished at once and some in any order, with pauses that differ
// from device to device. The calls are reused, as in a loop.
TEST(Async, RandomCallsInRandomOrder) {
  const int64_t shapes[][3] = {{2, 2, 2}, {3, 2, 1}, {4, 1, 2}, {5, 1, 1}};
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto &sizes = shapes[random() % std::size(shapes)];
    MeshShape mesh{{{"a", sizes[0]}, {"b", sizes[1]}, {"c", sizes[2]}}};
    std::vector<int> hosts;
    for (int64_t i = 0; i < mesh.deviceCount(); ++i)
      hosts.push_back(static_cast<int>(random() % 3));
    std::vector<Case> cases = makeRandomCases(mesh, 30, random);
    auto outcomes = runJob(onHosts(hosts), [&](DeviceContext &context) {
      // `common` gives the same numbers on all devices, `own` different ones.
      std::mt19937_64 common(seed), own(seed * 100 + context.position);
      std::vector<Call> calls;
      std::vector<bool> isAsync;
      for (size_t i = 0; i < cases.size(); ++i) {
        CallSite site = asyncAt(static_cast<int>(i));
        site.isAsync = common() % 4 != 0;
        isAsync.push_back(site.isAsync);
        calls.emplace_back(context, mesh, cases[i].desc, site);
        const std::vector<char> &bytes = cases[i].operands[context.position].bytes;
        std::memcpy(calls[i].operand->data(), bytes.data(), bytes.size());
      }
      for (int round = 0; round < 3; ++round)
        for (size_t first = 0; first < calls.size();) {
          size_t count = std::min<size_t>(1 + common() % 6, calls.size() - first);
          std::vector<size_t> order;
          auto finish = [&](size_t i) {
            calls[i].call->done();
            auto *data = static_cast<const char *>(calls[i].result->data());
            Value expected = expectedResult(mesh, cases[i].desc, cases[i].operands, context.position);
            std::string difference = compareBytes(
                cases[i].desc.dtype, std::vector<char>(data, data + expected.bytes.size()), expected.bytes);
            if (!difference.empty())
              throw Error("call " + std::to_string(i) + ": " + difference);
          };
          for (size_t i = first; i < first + count; ++i) {
            calls[i].start();
            if (isAsync[i])
              order.push_back(i);
            else
              finish(i);
            if (own() % 4 == 0)
              std::this_thread::sleep_for(std::chrono::microseconds(own() % 3000));
          }
          std::shuffle(order.begin(), order.end(), common);
          for (size_t i : order)
            finish(i);
          first += count;
        }
      return std::vector<char>();
    });
    for (const Outcome &outcome : outcomes)
      EXPECT_EQ(outcome.error, "");
  }
}

// A device that makes another call is named by the device that waits for it, although neither waits in the call itself.
TEST(Async, Divergence) {
  MeshShape mesh{{{"a", 2}}};
  auto outcomes = runJob(onHosts({0, 1}), [&](DeviceContext &context) {
    Call call(context, mesh, describe(CollectiveKind::AllReduce, mesh, 50'000), asyncAt(3 + context.process));
    call.start();
    std::this_thread::sleep_for(milliseconds(50));
    call.call->done();
    return std::vector<char>();
  });
  for (const Outcome &outcome : outcomes) {
    EXPECT_NE(outcome.error.find("the processes do not run the same program: process 0 device 0 calls all_reduce"),
              std::string::npos)
        << outcome.error;
    EXPECT_NE(outcome.error.find("x.spmd:3:5"), std::string::npos) << outcome.error;
    EXPECT_NE(outcome.error.find("x.spmd:4:5"), std::string::npos) << outcome.error;
    EXPECT_LT(outcome.seconds, timeLimit(1.0));
  }
}

// A run fails while its calls are in flight: after settle their memory may be freed at once.
TEST(Async, SettleEndsCallsInFlight) {
  MeshShape mesh{{{"a", 2}}};
  auto outcomes = runJob(onHosts({0, 1}), [&](DeviceContext &context) {
    Call first(context, mesh, describe(CollectiveKind::AllReduce, mesh, 5'000'000), asyncAt(3));
    Call second(context, mesh, describe(CollectiveKind::AllGather, mesh, 1000), asyncAt(4));
    if (context.process == 0) { // The other process never makes the call.
      first.start();
      second.start();
      std::this_thread::sleep_for(milliseconds(20));
      context.communicator->abort("device 0 is out of memory");
      context.endpoint->settle();
      std::memset(first.result->data(), 1, first.result->bytes());
      first.result.reset();
      second.call->done();
    }
    return std::vector<char>();
  });
  // The abort's cause if the first call had begun, else only that the run failed.
  bool isCause = outcomes[0].error.find("device 0 is out of memory") != std::string::npos;
  EXPECT_TRUE(isCause || outcomes[0].error == "a run of the program failed while its collectives were in flight")
      << outcomes[0].error;
  EXPECT_LT(outcomes[0].seconds, timeLimit(2.0));
}

// The cause of a failure arrives at calls in flight, and calls behind them do not begin.
TEST(Async, AbortReachesCallsInFlight) {
  MeshShape mesh{{{"a", 2}}};
  auto outcomes = runJob(onHosts({0, 1}), [&](DeviceContext &context) {
    Call first(context, mesh, describe(CollectiveKind::AllReduce, mesh, 100'000), asyncAt(3));
    Call second(context, mesh, describe(CollectiveKind::AllGather, mesh, 1000), asyncAt(4));
    if (context.process == 1) {
      std::this_thread::sleep_for(milliseconds(100));
      context.communicator->abort("device 1 failed");
      awaitPoint(currentJob(), 0, 1); // A waiting device asks the process of its peer.
      throw Error("device 1 failed");
    }
    first.start();
    second.start();
    try {
      second.call->done();
    } catch (...) {
      signalPoint(currentJob(), 0);
      throw;
    }
    return std::vector<char>();
  });
  EXPECT_NE(outcomes[0].error.find("device 1 failed"), std::string::npos) << outcomes[0].error;
}

} // namespace
