//===- EveryReshardTest.cpp - all pairs of shardings against the bound ----===//
//
// No plan can send less than what devices need and do not hold. The test plans every pair of shardings of ranks 1 to 3
// on meshes of up to 16 devices, with even and uneven shards. A normal run takes a sample of the largest sets of pairs;
// with SPMD_TEST_EVERY_PAIR=1 it takes all (docs/testing.md).
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "passes/reshard/ReshardPlanner.h"
#include "tests/passes/reshard/Shardings.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace mlir;

namespace spmdc {
namespace {

struct PairsCase {
  std::vector<int64_t> mesh, shape;
  std::string str() const {
    std::string text;
    for (int64_t size : mesh)
      text += std::to_string(size) + "x";
    text.back() = '_';
    for (int64_t size : shape)
      text += "_" + std::to_string(size);
    return text;
  }
};

std::vector<PairsCase> listCases() {
  std::vector<PairsCase> cases;
  for (std::vector<int64_t> mesh : std::vector<std::vector<int64_t>>{
           {16}, {2, 3}, {4, 4}, {2, 8}, {8, 2}, {2, 2, 2}, {2, 2, 4}, {4, 2, 2}, {2, 2, 2, 2}})
    for (std::vector<int64_t> shape :
         std::vector<std::vector<int64_t>>{{32}, {37}, {16, 32}, {17, 12}, {16, 16, 16}, {6, 7, 9}})
      cases.push_back({mesh, shape});
  return cases;
}

/// The number of elements that devices need and do not hold. Shards are boxes, and so is the intersection of two.
double countMissing(const spmd::MeshShape &mesh, const std::vector<int64_t> &shape, const spmd::Sharding &from,
                    const spmd::Sharding &to) {
  double missing = 0;
  for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
    auto has = spmd::ownedRanges(mesh, shape, from, device), needs = spmd::ownedRanges(mesh, shape, to, device);
    double needed = 1, shared = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t begin = std::max(has[d].start, needs[d].start),
              end = std::min(has[d].start + has[d].size, needs[d].start + needs[d].size);
      needed *= static_cast<double>(needs[d].size);
      shared *= static_cast<double>(std::max<int64_t>(0, end - begin));
    }
    missing += needed - shared;
  }
  return missing;
}

/// The most pairs of one case in a normal run.
constexpr size_t kPairs = 3000;

class EveryReshard : public ::testing::TestWithParam<PairsCase> {};

TEST_P(EveryReshard, SendsWhatDevicesNeedAndDoNotHold) {
  MLIRContext context;
  context.loadDialect<SpmdDialect, ArrayDialect>();
  spmd::MeshShape mesh;
  std::vector<spmd::AxisRef> axes;
  for (int64_t size : GetParam().mesh) {
    mesh.axes.push_back({std::string(1, static_cast<char>('a' + axes.size())), size});
    axes.push_back({mesh.axes.back().name});
  }
  const std::vector<int64_t> &shape = GetParam().shape;
  std::vector<spmd::Sharding> all = listShardings(shape.size(), axes);
  size_t pairs = all.size() * all.size(), step = getenv("SPMD_TEST_EVERY_PAIR") ? 1 : 1 + pairs / kPairs;
  auto planner = std::make_unique<ReshardPlanner>(mesh);
  for (size_t i = 0; i < pairs && !HasFailure(); i += step) {
    if (i / step % 100000 == 99999) // The planner caches all plans.
      planner = std::make_unique<ReshardPlanner>(mesh);
    const spmd::Sharding &from = all[i / all.size()], &to = all[i % all.size()];
    auto typeOf = [&](const spmd::Sharding &sharding) {
      return ArrayType::get(shape, Float32Type::get(&context), ShardingAttr::fromValue(&context, sharding));
    };
    const ReshardPlan &plan = planner->plan(typeOf(from), typeOf(to));
    EXPECT_EQ(plan.cost.wireBytes, 4 * countMissing(mesh, shape, from, to)) << from.str() << " -> " << to.str();
    EXPECT_EQ(plan.steps.empty() ? from : plan.steps.back().after, to) << from.str() << " -> " << to.str();
  }
}

INSTANTIATE_TEST_SUITE_P(Meshes, EveryReshard, ::testing::ValuesIn(listCases()),
                         [](const auto &info) { return info.param.str(); });

} // namespace
} // namespace spmdc
