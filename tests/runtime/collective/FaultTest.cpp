//===- FaultTest.cpp - ends of waits other than success -------------------===//

#include "JobHelper.h"
#include "runtime/support/Error.h"
#include "tests/support/TimeLimit.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>

using namespace spmd;
using namespace spmd::test;

namespace {

CollectiveDesc sumOf(std::vector<int64_t> shape, std::vector<AxisRef> axes) {
  CollectiveDesc desc;
  desc.axes = std::move(axes);
  desc.operandShape = desc.resultShape = std::move(shape);
  return desc;
}

CallSite at(int line, int step = 0) { return {.program = 1, .step = step, .location = {"x.spmd", line, 5}}; }

Layout onHosts(std::vector<int> hosts) {
  Layout layout{static_cast<int>(hosts.size()), 1};
  layout.hosts = std::move(hosts);
  return layout;
}

/// On one host, and with each process on a host of its own.
std::vector<Layout> oneAndManyHosts(int processes) {
  std::vector<int> hosts;
  for (int i = 0; i < processes; ++i)
    hosts.push_back(i);
  return {{processes, 1}, onHosts(hosts)};
}

/// No process ends before all are done: their error must not be that another process has gone.
DeviceBody together(int processes, DeviceBody body) {
  return [processes, body = std::move(body)](DeviceContext &context) {
    std::vector<char> bytes;
    std::exception_ptr error;
    try {
      bytes = body(context);
    } catch (...) {
      error = std::current_exception();
    }
    signalPoint(currentJob(), 15);
    awaitPoint(currentJob(), 15, processes);
    if (error)
      std::rethrow_exception(error);
    return bytes;
  };
}

std::vector<char> zeros(int64_t bytes) { return std::vector<char>(bytes); }

// A process is killed while the others wait for it: they end within a second with the verdict.
TEST(Faults, KilledPeerEndsTheWait) {
  MeshShape mesh{{{"a", 4}}};
  for (auto [size, layout] : {std::pair<int64_t, Layout>{1, {4, 1}},
                              {100'000, {4, 1}},
                              {1, onHosts({0, 0, 1, 1})},
                              {100'000, onHosts({0, 0, 1, 1})},
                              {100'000, onHosts({0, 1, 2, 3})}}) {
    auto outcomes = runJob(
        layout,
        [&, size = size](DeviceContext &context) {
          context.call(mesh, sumOf({size}, {{"a"}}), zeros(4 * size), at(3));
          if (context.process == 2) {
            signalPoint(currentJob(), 0);
            awaitPoint(currentJob(), 1, 1); // Never returns.
          }
          return context.call(mesh, sumOf({size}, {{"a"}}), zeros(4 * size), at(4));
        },
        [&](const std::vector<pid_t> &pids, SharedJob &job) {
          awaitPoint(job, 0, 1);
          kill(pids[2], SIGKILL);
          declareOver(job, "process 2 was killed by signal 9");
        });
    for (int process : {0, 1, 3}) {
      EXPECT_EQ(outcomes[process].error, "process 2 was killed by signal 9");
      EXPECT_LT(outcomes[process].seconds, timeLimit(1.0));
    }
    EXPECT_EQ(outcomes[2].error, "process died");
  }
}

// Two processes make different calls: both name both calls, with their lines.
TEST(Faults, DifferentCallsAreNamedByBoth) {
  MeshShape mesh{{{"a", 2}}};
  for (int64_t size : {8, 80'000})
    for (const Layout &layout : oneAndManyHosts(2)) {
      auto outcomes = runJob(layout, together(2, [&](DeviceContext &context) {
                               if (context.process == 0)
                                 return context.call(mesh, sumOf({size}, {{"a"}}), zeros(4 * size), at(3));
                               return context.call(mesh, sumOf({9}, {{"a"}}), zeros(36), at(7, 2));
                             }));
      for (const Outcome &outcome : outcomes) {
        EXPECT_NE(outcome.error.find("process 0 device 0 calls all_reduce sum f32[" + std::to_string(size) +
                                     "] over (a) at x.spmd:3:5 (step 0), but process 1 device 1 calls all_reduce sum "
                                     "f32[9] over (a) at x.spmd:7:5 (step 2)"),
                  std::string::npos)
            << outcome.error;
        EXPECT_LT(outcome.seconds, timeLimit(1.0));
      }
    }
}

// A permutation sends in one direction only, and a gather in both: the difference is detected whichever process makes
// which.
TEST(Faults, DifferentKindsBetweenHosts) {
  MeshShape mesh{{{"a", 2}}};
  CollectiveDesc permute = sumOf({8}, {{"a"}});
  permute.kind = CollectiveKind::CollectivePermute;
  permute.pairs = {{0, 1}};
  CollectiveDesc gather = sumOf({8}, {{"a"}});
  gather.kind = CollectiveKind::AllGather;
  gather.resultShape = {16};
  gather.concatDim = 0;
  for (bool isFirst : {true, false}) {
    auto outcomes = runJob(onHosts({0, 1}), together(2, [&](DeviceContext &context) {
                             return context.call(mesh, (context.process == 0) == isFirst ? permute : gather, zeros(32),
                                                 at(3 + context.process));
                           }));
    for (const Outcome &outcome : outcomes) {
      EXPECT_NE(outcome.error.find("collective_permute f32[8] over (a) at x.spmd:"), std::string::npos)
          << outcome.error;
      EXPECT_NE(outcome.error.find("all_gather f32[8] over (a) at x.spmd:"), std::string::npos) << outcome.error;
      EXPECT_LT(outcome.seconds, timeLimit(1.0));
    }
  }
}

// The same description from another program is another call.
TEST(Faults, AnotherProgramIsADivergence) {
  MeshShape mesh{{{"a", 2}}};
  for (const Layout &layout : oneAndManyHosts(2)) {
    auto outcomes = runJob(layout, together(2, [&](DeviceContext &context) {
                             CallSite site = at(3);
                             site.program = context.process;
                             return context.call(mesh, sumOf({8}, {{"a"}}), zeros(32), site);
                           }));
    for (const Outcome &outcome : outcomes)
      EXPECT_NE(outcome.error.find("the processes do not run the same program"), std::string::npos) << outcome.error;
  }
}

// One process skips a call over other axes, so that the two never meet in one group.
TEST(Faults, SkippedCallOverOtherAxes) {
  MeshShape mesh{{{"a", 2}, {"b", 2}}};
  for (const Layout &layout : {Layout{4, 1}, onHosts({0, 0, 1, 1}), onHosts({0, 1, 2, 3}), onHosts({0, 1, 0, 1})}) {
    auto outcomes = runJob(layout, together(4, [&](DeviceContext &context) {
                             if (context.process != 3)
                               context.call(mesh, sumOf({8}, {{"a"}}), zeros(32), at(3));
                             return context.call(mesh, sumOf({8}, {{"b"}}), zeros(32), at(4));
                           }));
    for (const Outcome &outcome : outcomes) {
      EXPECT_LT(outcome.seconds, timeLimit(1.0));
      if (outcome.error.empty())
        continue; // Its group may have been complete.
      EXPECT_NE(outcome.error.find("x.spmd:3:5"), std::string::npos) << outcome.error;
      EXPECT_NE(outcome.error.find("x.spmd:4:5"), std::string::npos) << outcome.error;
    }
    EXPECT_NE(outcomes[3].error, "");
    EXPECT_NE(outcomes[1].error, "");
  }
}

// A process leaves its loop early and finishes: the other process does not wait forever.
TEST(Faults, LoopLeftEarly) {
  MeshShape mesh{{{"a", 2}}};
  for (const Layout &layout : oneAndManyHosts(2)) {
    auto outcomes = runJob(
        layout,
        [&](DeviceContext &context) {
          context.endpoint->beginLaunch();
          for (int i = 0; i < 5 + context.process; ++i)
            context.call(mesh, sumOf({8}, {{"a"}}), zeros(32), at(3));
          context.endpoint->endLaunch();
          if (context.process == 0)
            awaitPoint(currentJob(), 0, 1);
          return std::vector<char>();
        },
        [](const std::vector<pid_t> &pids, SharedJob &job) {
          // Process 0 stays alive until process 1 has failed, so that only the finished run can be the reason.
          siginfo_t info;
          waitid(P_PID, pids[1], &info, WEXITED | WNOWAIT);
          signalPoint(job, 0);
        });
    EXPECT_EQ(outcomes[0].error, "");
    EXPECT_NE(outcomes[1].error.find("process 0 device 0 has finished its run of the program without it, but process 1 "
                                     "device 1 calls all_reduce sum f32[8] over (a) at x.spmd:3:5"),
              std::string::npos)
        << outcomes[1].error;
    EXPECT_LT(outcomes[1].seconds, timeLimit(1.0));
  }
}

// A device that has failed otherwise finds out while it waits: its peer may wait for it there. Behind the run, nothing
// is checked.
TEST(Faults, DeviceFailsWhileItWaits) {
  MeshShape mesh{{{"a", 2}}};
  for (const Layout &layout : oneAndManyHosts(2)) {
    auto outcomes = runJob(layout, together(2, [&](DeviceContext &context) {
                             auto sum = [&] { context.call(mesh, sumOf({8}, {{"a"}}), zeros(32), at(3)); };
                             context.endpoint->beginLaunch([] { throw Error("a transfer of x.spmd:2:1 failed"); });
                             context.endpoint->endLaunch();
                             context.endpoint->beginLaunch();
                             sum();
                             context.endpoint->endLaunch();
                             context.endpoint->beginLaunch([&] {
                               if (context.process == 1)
                                 throw Error("a transfer of x.spmd:2:1 failed");
                             });
                             if (context.process == 1)
                               sum();
                             return std::vector<char>();
                           }));
    EXPECT_EQ(outcomes[0].error, "");
    EXPECT_EQ(outcomes[1].error, "a transfer of x.spmd:2:1 failed");
    EXPECT_LT(outcomes[1].seconds, timeLimit(1.0));
  }
}

// A device that fails ends the wait of the other devices of its communicator, with its cause.
TEST(Faults, AbortReachesAllProcesses) {
  MeshShape mesh{{{"a", 3}}};
  for (const Layout &layout : {Layout{3, 1}, onHosts({0, 1, 2}), onHosts({0, 0, 1}), onHosts({0, 1, 1})})
    for (int64_t size : {8, 80'000}) {
      auto outcomes = runJob(layout, together(3, [&](DeviceContext &context) {
                               if (context.process == 1) {
                                 context.communicator->abort("the kernel of x.spmd:9:1 failed");
                                 return std::vector<char>();
                               }
                               return context.call(mesh, sumOf({size}, {{"a"}}), zeros(4 * size), at(3));
                             }));
      for (int process : {0, 2}) {
        EXPECT_EQ(outcomes[process].error, "the kernel of x.spmd:9:1 failed");
        EXPECT_LT(outcomes[process].seconds, timeLimit(1.0));
      }
    }
}

// A process ends without a message, and no verdict follows: the error names the lost connection.
TEST(Faults, LostConnectionIsNamed) {
  MeshShape mesh{{{"a", 2}}};
  auto outcomes = runJob(onHosts({0, 1}), [&](DeviceContext &context) {
    context.call(mesh, sumOf({8}, {{"a"}}), zeros(32), at(3));
    if (context.process == 1)
      return std::vector<char>();
    return context.call(mesh, sumOf({8}, {{"a"}}), zeros(32), at(4));
  });
  EXPECT_NE(
      outcomes[0].error.find("the connection from process 0 device 0 to process 1 device 1 on host host1 is lost"),
      std::string::npos)
      << outcomes[0].error;
  EXPECT_LT(outcomes[0].seconds, timeLimit(2.0));
}

// A peer does not make the call: an error at the limit names it.
TEST(Faults, LimitNamesTheMissingPeer) {
  MeshShape mesh{{{"a", 3}}};
  for (Layout layout : oneAndManyHosts(3)) {
    layout.timeouts = {.collective = std::chrono::milliseconds(200), .grace = std::chrono::milliseconds(300)};
    auto outcomes = runJob(
        layout,
        [&](DeviceContext &context) {
          if (context.process == 1) {
            awaitPoint(currentJob(), 0, 1);
            return std::vector<char>();
          }
          try {
            return context.call(mesh, sumOf({8}, {{"a"}}), zeros(32), at(3));
          } catch (const Error &) {
            if (context.process == 2) // So that process 0 does not find it gone.
              awaitPoint(currentJob(), 0, 1);
            throw;
          }
        },
        [](const std::vector<pid_t> &pids, SharedJob &job) {
          siginfo_t info;
          waitid(P_PID, pids[0], &info, WEXITED | WNOWAIT);
          signalPoint(job, 0);
        });
    EXPECT_NE(outcomes[0].error.find("waited for 0.2"), std::string::npos) << outcomes[0].error;
    EXPECT_NE(outcomes[0].error.find("for process 1 device 1"), std::string::npos) << outcomes[0].error;
    EXPECT_GE(outcomes[0].seconds, 0.5); // The coordinator may report before.
    bool isOneHost = layout.hosts.empty();
    EXPECT_EQ(outcomes[0].error.starts_with("process 1 is to blame: all_reduce"), isOneHost) << outcomes[0].error;
  }
}

// Undefined reductions are refused when they are prepared.
TEST(Faults, ReductionsWithoutMeaning) {
  auto outcomes = runJob({1, 1}, [&](DeviceContext &context) {
    CollectiveDesc desc = sumOf({8}, {});
    desc.reduction = ReductionKind::And;
    return context.call({}, desc, zeros(32));
  });
  EXPECT_EQ(outcomes[0].error, "a collective cannot reduce f32 by and");
}

} // namespace
