// The planner against an exhaustive search of its own and against hand-computed byte counts.

#include "passes/reshard/ReshardPlanner.h"

#include "ir/array/ArrayOps.h"
#include "tests/passes/reshard/Shardings.h"
#include "tests/support/TimeLimit.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace mlir;

namespace spmdc {
namespace {

class ReshardPlannerTest : public ::testing::Test {
protected:
  ReshardPlannerTest() { context.loadDialect<SpmdDialect, ArrayDialect>(); }

  ArrayType type(std::vector<int64_t> shape, spmd::Sharding sharding) {
    return ArrayType::get(shape, Float32Type::get(&context), ShardingAttr::fromValue(&context, sharding));
  }

  MLIRContext context;
};

using Kind = ReshardStep::Kind;
const spmd::AxisRef a{"a"}, b{"b"};

TEST_F(ReshardPlannerTest, NothingToDoIsNoStep) {
  ReshardPlanner planner(spmd::MeshShape{{{"a", 4}}});
  auto same = type({8, 8}, {{{a}, {}}, {}});
  EXPECT_TRUE(planner.plan(same, same).steps.empty());
}

// Moving an axis between dimensions sends 3/4 of what each of 4 devices holds (8 x 16 / 4 elements of 4 bytes).
TEST_F(ReshardPlannerTest, MovingAnAxisIsOneAllToAll) {
  ReshardPlanner planner(spmd::MeshShape{{{"a", 4}}});
  const ReshardPlan &plan = planner.plan(type({8, 16}, {{{a}, {}}, {}}), type({8, 16}, {{{}, {a}}, {}}));
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].kind, Kind::AllToAll);
  EXPECT_EQ(plan.cost.wireBytes, 4 * 96);
}

TEST_F(ReshardPlannerTest, GatheringBothDimensionsTakesNamedCollectives) {
  ReshardPlanner planner(spmd::MeshShape{{{"a", 2}, {"b", 2}}});
  const ReshardPlan &plan = planner.plan(type({8, 8}, {{{a}, {b}}, {}}), type({8, 8}, {{{}, {}}, {}}));
  for (const ReshardStep &step : plan.steps)
    EXPECT_EQ(step.kind, Kind::AllGather);
  // Each device lacks 3/4 of 256 bytes.
  EXPECT_EQ(plan.cost.wireBytes, 4 * 192);
}

TEST_F(ReshardPlannerTest, SlicingIsFree) {
  ReshardPlanner planner(spmd::MeshShape{{{"a", 2}, {"b", 2}}});
  const ReshardPlan &plan = planner.plan(type({8, 8}, {{{}, {}}, {}}), type({8, 8}, {{{b}, {a}}, {}}));
  EXPECT_EQ(plan.cost.wireBytes, 0);
  EXPECT_EQ(plan.cost.steps, 0);
}

TEST_F(ReshardPlannerTest, PartialSumsIntoASliceAreOneReduceScatter) {
  ReshardPlanner planner(spmd::MeshShape{{{"a", 4}}});
  const ReshardPlan &plan = planner.plan(type({8}, {{{}}, {a}}), type({8}, {{{a}}, {}}));
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].kind, Kind::ReduceScatter);
  EXPECT_EQ(plan.cost.wireBytes, 4 * 24);
}

// Partial sums are sent in f32, rounded sums in 16 bits: few bytes in one step, many bytes in two, of which the second
// sends half: 3/4 of 4-byte elements and 3/4 of 2-byte ones, instead of 6/4 of 4-byte elements.
TEST_F(ReshardPlannerTest, WidePartialSumsAreSentAsTheyAre) {
  ReshardPlanner planner(spmd::MeshShape{{{"a", 4}}});
  auto half = [&](ArrayType wide) { return wide.withElementType(BFloat16Type::get(&context)); };
  const ReshardPlan &small = planner.plan(type({8}, {{{}}, {a}}), half(type({8}, {{{}}, {}})));
  ASSERT_EQ(small.steps.size(), 1u);
  EXPECT_EQ(small.steps[0].kind, Kind::AllReduce);
  EXPECT_EQ(small.cost.wireBytes, 4 * (2 * 24));
  const int64_t size = 1 << 20;
  ArrayType partial = type({size}, {{{}}, {a}}), whole = half(type({size}, {{{}}, {}}));
  const ReshardPlan &large = planner.plan(partial, whole);
  ASSERT_EQ(large.steps.size(), 2u);
  EXPECT_EQ(large.steps[0].kind, Kind::ReduceScatter);
  EXPECT_EQ(large.steps[1].kind, Kind::AllGather);
  EXPECT_EQ(large.cost.wireBytes, 4.0 * size / 4 * 3 * (4 + 2));
  EXPECT_LE(planner.getLeastBytes(partial, whole), large.cost.linkBytes);
  // A sum that stays sharded is not gathered.
  const ReshardPlan &scattered = planner.plan(partial, half(type({size}, {{{a}}, {}})));
  EXPECT_EQ(scattered.cost.wireBytes, 4.0 * size / 4 * 3 * 4);
  // A replicated array becomes a partial sum without traffic, and is gathered before it is widened.
  const ReshardPlan &made = planner.plan(half(type({size}, {{{a}}, {}})), type({size}, {{{}}, {a}}));
  EXPECT_EQ(made.cost.wireBytes, 0);
}

TEST_F(ReshardPlannerTest, PartialSumsOverTwoAxesAreOneAllReduce) {
  ReshardPlanner planner(spmd::MeshShape{{{"a", 4}, {"b", 2}}});
  const ReshardPlan &plan = planner.plan(type({}, {{}, {a, b}}), type({}, {{}, {}}));
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].kind, Kind::AllReduce);
  EXPECT_EQ(plan.steps[0].axes.size(), 2u);
}

// From a sharding over a full axis to one over its major half, only the minor half is gathered.
TEST_F(ReshardPlannerTest, SubAxesAreGatheredAlone) {
  ReshardPlanner planner(spmd::MeshShape{{{"a", 4}}});
  spmd::AxisRef major{"a", 1, 2};
  const ReshardPlan &plan = planner.plan(type({8}, {{{a}}, {}}), type({8}, {{{major}}, {}}));
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].kind, Kind::AllGather);
  EXPECT_EQ(plan.steps[0].axes[0].str(), "a:(2)2");
  EXPECT_EQ(plan.cost.wireBytes, 4 * 8);
}

// Between hosts bytes are expensive: partial sums are reduced and scattered within the hosts first, their shards
// reduced between hosts, and gathered. If all links are equal, one all_reduce sends as many bytes in fewer steps.
TEST_F(ReshardPlannerTest, SlowAxesAreSpared) {
  spmd::MeshShape mesh{{{"host", 2}, {"local", 4}}};
  spmd::AxisRef host{"host", 1, 0}, local{"local", 1, 0};
  auto plan = [&](ReshardPlanner &planner) {
    std::vector<Kind> kinds;
    for (const ReshardStep &step :
         planner.plan(type({64, 64}, {{{}, {}}, {host, local}}), type({64, 64}, {{{}, {}}, {}})).steps)
      kinds.push_back(step.kind);
    return kinds;
  };
  ReshardPlanner alike(mesh);
  EXPECT_EQ(plan(alike), std::vector{Kind::AllReduce});
  CostModel slow;
  slow.axes["host"] = {.latencyMicroseconds = 100, .bytesPerSecond = slow.link.bytesPerSecond / 10};
  ReshardPlanner unlike(mesh, slow);
  EXPECT_EQ(plan(unlike), (std::vector{Kind::ReduceScatter, Kind::AllReduce, Kind::AllGather}));
  // 3/4 of 16 KiB within the host twice, and a full quarter between hosts: 10 times as expensive, there and back.
  const CollectiveCost &cost =
      unlike.plan(type({64, 64}, {{{}, {}}, {host, local}}), type({64, 64}, {{{}, {}}, {}})).cost;
  EXPECT_EQ(cost.wireBytes, 8 * (2 * 12288 + 4096));
  EXPECT_EQ(cost.linkBytes, 8 * (2 * 12288 + 10 * 4096));
  EXPECT_DOUBLE_EQ(cost.latencySeconds, (10 + 100 + 10) / 1e6);
}

// Hosts that each hold a full array on several devices send every part of it to each other once.
TEST_F(ReshardPlannerTest, TransfersAlongSlowAxesAreSpread) {
  spmd::MeshShape mesh{{{"host", 2}, {"local", 4}}};
  spmd::AxisRef host{"host", 1, 0};
  auto kindsOf = [](const ReshardPlan &plan) {
    std::vector<Kind> kinds;
    for (const ReshardStep &step : plan.steps)
      kinds.push_back(step.kind);
    return kinds;
  };
  CostModel slow;
  slow.axes["host"] = {.latencyMicroseconds = 100, .bytesPerSecond = slow.link.bytesPerSecond / 10};
  ReshardPlanner planner(mesh, slow);
  ArrayType cut = type({512, 1024}, {{{host}, {}}, {}}), whole = type({512, 1024}, {{{}, {}}, {}});
  ArrayType partial = type({512, 1024}, {{{}, {}}, {host}}), moved = type({512, 1024}, {{{}, {host}}, {}});
  // A quarter of 1 MiB between hosts, and three quarters of 2 MiB within each.
  const ReshardPlan &gather = planner.plan(cut, whole);
  EXPECT_EQ(kindsOf(gather), (std::vector{Kind::AllSlice, Kind::AllGather, Kind::AllGather}));
  EXPECT_EQ(gather.cost.wireBytes, 8 * (262144 + 1572864));
  EXPECT_EQ(gather.cost.linkBytes, 8 * (10 * 262144 + 1572864));
  EXPECT_EQ(kindsOf(planner.plan(partial, whole)), (std::vector{Kind::AllSlice, Kind::AllReduce, Kind::AllGather}));
  EXPECT_LT(planner.plan(cut, moved).cost.linkBytes, 8 * 10 * 524288);
  // Not if that takes longer: few bytes, equal axes, or devices that may hold different data.
  EXPECT_EQ(kindsOf(planner.plan(type({8, 8}, {{{host}, {}}, {}}), type({8, 8}, {{{}, {}}, {}}))),
            std::vector{Kind::AllGather});
  ReshardPlanner alike(mesh), apart(mesh, slow, /*spreads=*/false);
  EXPECT_EQ(kindsOf(alike.plan(cut, whole)), std::vector{Kind::AllGather});
  EXPECT_EQ(kindsOf(apart.plan(cut, whole)), std::vector{Kind::AllGather});
}

// The search ignores axes that neither side names: 4,096 devices over twelve axes, of which two are used.
TEST_F(ReshardPlannerTest, UnusedAxesAreNotSearched) {
  spmd::MeshShape mesh;
  for (char name = 'a'; name < 'm'; ++name)
    mesh.axes.push_back({std::string(1, name), 2});
  CostModel slow;
  slow.axes["a"].bytesPerSecond = slow.link.bytesPerSecond / 100;
  for (const CostModel &model : {CostModel(), slow}) {
    ReshardPlanner planner(mesh, model);
    auto start = std::chrono::steady_clock::now();
    const ReshardPlan &plan =
        planner.plan(type({64, 64, 64}, {{{a}, {b}, {}}, {}}), type({64, 64, 64}, {{{}, {a}, {b}}, {}}));
    EXPECT_FALSE(plan.steps.empty());
    EXPECT_LT(std::chrono::steady_clock::now() - start, spmd::test::timeLimit(std::chrono::seconds(5)));
  }
}

// 5 elements over a=4 are 2 2 1 0, but 2 1 2 0 over its halves: a gather of the minor half does not give the shards of
// the major half, nor the reverse. An exchange does.
TEST_F(ReshardPlannerTest, PartsOfAnUnevenAxisAreExchanged) {
  ReshardPlanner planner(spmd::MeshShape{{{"a", 4}}});
  spmd::Sharding whole{{{a}}, {}}, half{{{{"a", 1, 2}}}, {}};
  for (auto [from, to] : {std::pair(whole, half), std::pair(half, whole)}) {
    const ReshardPlan &plan = planner.plan(type({5}, from), type({5}, to));
    ASSERT_FALSE(plan.steps.empty());
    EXPECT_EQ(plan.steps.back().kind, Kind::Exchange);
    EXPECT_EQ(plan.steps.back().after, to);
  }
}

/// The first element that a device needs and no device of its group has, or -1; of a one-dimensional array.
int64_t elementOutOfReach(const spmd::MeshShape &mesh, int64_t size, const std::vector<spmd::AxisRef> &axes,
                          const spmd::Sharding &from, const spmd::Sharding &to) {
  for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
    std::vector<bool> isInReach(static_cast<size_t>(size));
    for (int64_t peer : spmd::groupOf(mesh, axes, device)) {
      spmd::ShardRange has = spmd::ownedRanges(mesh, {size}, from, peer)[0];
      for (int64_t i = has.start; i < has.start + has.size; ++i)
        isInReach[static_cast<size_t>(i)] = true;
    }
    spmd::ShardRange needs = spmd::ownedRanges(mesh, {size}, to, device)[0];
    for (int64_t i = needs.start; i < needs.start + needs.size; ++i)
      if (!isInReach[static_cast<size_t>(i)])
        return i;
  }
  return -1;
}

// An axis at the same position on both sides may give different shards: behind c=2 and behind a=3, or behind a half of
// b and behind all of it. The group of an exchange holds all elements that its devices need.
TEST_F(ReshardPlannerTest, ExchangesReachWhatTheirDevicesNeed) {
  int exchanges = 0;
  auto check = [&](const spmd::MeshShape &mesh, const std::vector<spmd::AxisRef> &axes) {
    std::vector<spmd::Sharding> all = listShardings(1, axes);
    ReshardPlanner planner(mesh);
    for (int64_t size : {5, 8, 12, 30})
      for (const spmd::Sharding &from : all)
        for (const spmd::Sharding &to : all) {
          spmd::Sharding before = from;
          for (const ReshardStep &step : planner.plan(type({size}, from), type({size}, to)).steps) {
            if (step.kind == Kind::Exchange) {
              ++exchanges;
              EXPECT_EQ(elementOutOfReach(mesh, size, step.axes, before, step.after), -1)
                  << size << " elements, " << before.str() << " -> " << step.after.str();
            }
            before = step.after;
          }
        }
  };
  check({{{"a", 3}, {"b", 2}, {"c", 2}}}, {a, b, {"c"}});
  check({{{"a", 2}, {"b", 8}}}, {a, {"b", 1, 2}, {"b", 2, 4}});
  EXPECT_GT(exchanges, 100);
}

} // namespace
} // namespace spmdc
