#include "runtime/artifact/PlanVerifier.h"

#include "runtime/support/Error.h"
#include "tests/runtime/artifact/ExampleArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

using namespace spmd;
using testing::HasSubstr;

namespace {

/// The example with one change must be refused with a message that names the change.
void expectRefused(const std::function<void(Plan &)> &change, const std::string &expected) {
  Artifact artifact = exampleArtifact();
  change(artifact.plan);
  try {
    verifyPlan(artifact);
    ADD_FAILURE() << "accepted; expected: " << expected;
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr(expected));
  }
}

template <typename Op> Op &stepOf(Plan &plan, size_t index) { return std::get<Op>(plan.steps[index].op); }
CollectiveDesc &descOf(Plan &plan, size_t index) { return stepOf<CollectiveStartStep>(plan, index).desc; }

TEST(PlanVerifier, accepts_the_example) { EXPECT_NO_THROW(verifyPlan(exampleArtifact())); }

TEST(PlanVerifier, mesh) {
  expectRefused([](Plan &plan) { plan.mesh.axes[1].name = "a"; }, "names axis 'a' twice");
  expectRefused([](Plan &plan) { plan.mesh.axes[1].size = 0; }, "mesh axis 'b' has size 0");
  expectRefused([](Plan &plan) { plan.mesh.axes[1].size = int64_t(1) << 62; }, "mesh axis 'b' has size");
}

TEST(PlanVerifier, values) {
  expectRefused([](Plan &plan) { plan.params[0].shape = {7, -6}; }, "parameter 'x' has the shape [7, -6]");
  expectRefused([](Plan &plan) { plan.params[0].shape = {int64_t(1) << 40, int64_t(1) << 40}; }, "has the shape");
  expectRefused([](Plan &plan) { plan.params[0].localShape = {2, 4}; },
                "has the local shape [2, 4] where [2, 3] follows from its sharding");
  expectRefused([](Plan &plan) { plan.params[0].sharding.dims[1] = {{"a"}}; }, "uses axis 'a' twice");
  expectRefused([](Plan &plan) { plan.params[0].sharding.dims[1] = {{"c"}}; }, "axis 'c', which the mesh does not");
  expectRefused([](Plan &plan) { plan.params[0].sharding.dims[0] = {{"a", 1, 3}}; }, "'a:(1)3', which is not a part");
  expectRefused([](Plan &plan) { plan.params[0].sharding.dims = {{}, {}, {}}; },
                "has 2 dimensions and a sharding of 3");
  expectRefused([](Plan &plan) { plan.params[0].format = ElementFormat::Complex; },
                "parameter 'x' is complex and [2, 3] on each device: its last dimension has no two parts");
  expectRefused([](Plan &plan) { plan.params[0].format = ElementFormat::F8E5M2; },
                "parameter 'x' has the format f8E5M2 and the type f32 where u8 belongs");
  // Two parts of one axis may be in one sharding if they do not overlap.
  Artifact parts = exampleArtifact();
  parts.plan.params[0].sharding = {{{{"a", 2, 2}}, {{"a", 1, 2}}}, {}};
  parts.plan.params[0].localShape = {4, 3};
  EXPECT_NO_THROW(verifyPlan(parts));
}

TEST(PlanVerifier, buffers) {
  expectRefused([](Plan &plan) { plan.buffers[0].index = 2; }, "buffer 0 names value 2 of 2");
  expectRefused([](Plan &plan) { plan.buffers[0].index = -1; }, "buffer 0 names value -1 of 2");
  expectRefused([](Plan &plan) { plan.buffers[3].offset = 4080; }, "buffer 3 has 24 bytes at offset 4080");
  expectRefused([](Plan &plan) { plan.buffers[3].offset = -8; }, "at offset -8");
  expectRefused([](Plan &plan) { plan.buffers[3].offset = 66; }, "not aligned");
  expectRefused([](Plan &plan) { plan.buffers[4].offset = 8; }, "buffer 4 has 4 bytes at offset 8 of a space of 8");
  expectRefused([](Plan &plan) { plan.buffers[0].shape = {2, 4}; },
                "buffer 0 has 32 bytes at offset 0 of a space of 24");
}

TEST(PlanVerifier, steps) {
  expectRefused([](Plan &plan) { stepOf<LaunchStep>(plan, 0).kernel = 2; }, "names kernel 2 of 2");
  expectRefused([](Plan &plan) { stepOf<LaunchStep>(plan, 0).operands = {10}; },
                "at mlp.spmd:3:7: a step names buffer 10 of 10");
  expectRefused([](Plan &plan) { stepOf<LaunchStep>(plan, 0).outputs = 3; },
                "a launch has 3 outputs among its 2 operands");
  expectRefused([](Plan &plan) { stepOf<LaunchStep>(plan, 0).outputs = -1; },
                "a launch has -1 outputs among its 2 operands");
  expectRefused([](Plan &plan) { stepOf<LaunchStep>(plan, 0).grain = 0; }, "extent 6 and grain 0");
  expectRefused([](Plan &plan) { stepOf<MatmulStep>(plan, 1).k = 4; }, "the left operand of a matrix product has 24");
  expectRefused([](Plan &plan) { stepOf<MatmulStep>(plan, 1).m = int64_t(1) << 60; }, "the left operand");
  expectRefused([](Plan &plan) { stepOf<MatmulStep>(plan, 1).allowTf32 = true; },
                "a matrix product of f32 on cpu devices allows TF32, which is for f32 on GPUs");
  expectRefused(
      [](Plan &plan) {
        plan.target.backend = "cuda";
        plan.buffers[3].dtype = DType::F16;
        stepOf<MatmulStep>(plan, 1).allowTf32 = true;
      },
      "a matrix product of f16 on cuda devices allows TF32");
  LibraryEpilogue gelu{LibraryEpilogue::Function::Gelu};
  expectRefused([&](Plan &plan) { stepOf<MatmulStep>(plan, 1).libraryEpilogue = gelu; },
                "the form of a matrix product's epilogue for a library is for GPUs");
  expectRefused(
      [&](Plan &plan) {
        plan.target.backend = "cuda";
        stepOf<MatmulStep>(plan, 1).libraryEpilogue = gelu;
      },
      "the form of a matrix product's epilogue for a library writes");
  // The operand has 2 x 3 of 6 elements.
  for (const OperandView &view : {OperandView{0, {}, {{2, 3}}, {{3, 2}}},
                                  {1, {}, {{2, 3}}, {{3, 1}}},
                                  {-1, {}, {{2, 3}}, {{3, 1}}},
                                  {0, {}, {{2, -3}}, {{3, 1}}},
                                  {0, {}, {{3, 1}}, {{2, 3}}},
                                  {0, {{0, 1}}, {{2, 3}}, {{3, 1}}},
                                  {0, {}, {{2, int64_t(1) << 62}}, {{3, int64_t(1) << 62}}},
                                  {0, {}, {{int64_t(1) << 62, 0}, {4, 0}, {2, 3}}, {{3, 1}}},
                                  {6, {}, {}, {}}})
    expectRefused([&](Plan &plan) { stepOf<MatmulStep>(plan, 1).lhsView = view; },
                  "the left operand of a matrix product is no view of");
  expectRefused([](Plan &plan) { stepOf<CopyStep>(plan, 14).target = 4; }, "which is a constant");
  expectRefused([](Plan &plan) { stepOf<CopyStep>(plan, 14).source = 3; }, "a copy goes from 24 bytes to 4");
  expectRefused([](Plan &plan) { stepOf<IfStep>(plan, 10).predicate = 4; }, "is not one bool");
  expectRefused([](Plan &plan) { stepOf<PrintStep>(plan, 13).texts.pop_back(); }, "a print has 1 values, 1 texts");
}

TEST(PlanVerifier, collectives) {
  expectRefused([](Plan &plan) { descOf(plan, 2).axes = {{"c"}}; }, "axis 'c'");
  expectRefused([](Plan &plan) { descOf(plan, 2).dtype = DType::F64; }, "a collective's operand has 48 bytes");
  expectRefused([](Plan &plan) { descOf(plan, 3).concatDim = 2; }, "names dimension 2 of 2");
  expectRefused([](Plan &plan) { descOf(plan, 3).axes = {{"a"}}; }, "takes [2, 3] to [2, 6] where [2, 2] to [2, 6]");
  expectRefused([](Plan &plan) { descOf(plan, 6).axes = {{"a"}, {"b"}}, descOf(plan, 6).resultShape = {3, 1}; },
                "takes [2, 3] to [3, 1] where [2, 3] to [1, 3]");
  auto move = [](Plan &plan, std::vector<int64_t> targetShape, std::vector<DimMove> moves) {
    for (Step &step : plan.steps)
      if (auto *start = std::get_if<CollectiveStartStep>(&step.op))
        if (start->desc.kind == CollectiveKind::Exchange) {
          start->desc.targetShape = std::move(targetShape);
          start->desc.moves = std::move(moves);
          return;
        }
  };
  const char *unfit = "an exchange's moves do not fit its array of 2";
  DimMove whole{0, 1, 0, 6};
  expectRefused([&](Plan &plan) { move(plan, {7, 6}, {whole}); }, unfit);
  expectRefused([&](Plan &plan) { move(plan, {7}, {whole, whole}); }, unfit);
  for (DimMove bad : {DimMove{INT64_MIN, 1, 0, 6},
                      DimMove{0, 0, 0, 6},
                      DimMove{0, INT64_MIN, 0, 6},
                      DimMove{0, 1, 0, 7},
                      DimMove{0, 1, -1, 6},
                      DimMove{0, 1, 4, 3},
                      DimMove{0, 1, 0, 6, 2, 1},
                      DimMove{0, 1, 0, 6, 4, 1},
                      DimMove{0, 1, 0, 6, -3, 1},
                      DimMove{0, 1, 0, 6, 3, INT64_MIN},
                      DimMove{0, 1, 0, 6, 3, INT64_MAX / 4},
                      DimMove{0, INT64_MAX / 4, 0, 6, 3, 1},
                      DimMove{0, -1, 0, 6, 3, 1, 4},
                      DimMove{0, 1, 0, 6, 3, -1, 4},
                      DimMove{0, 1, 0, 6, 3, 1, -1},
                      DimMove{0, 1, 0, 6, 3, INT64_MAX / 16, 64},
                      DimMove{0, 1, 0, 6, 0, 0, 0, 0},
                      DimMove{0, 1, 0, 6, 0, 0, 0, -2},
                      DimMove{0, 1, 0, 6, 0, 0, 0, 4},
                      DimMove{0, 2, 0, 6, 0, 0, 0, 1, true},
                      DimMove{0, 1, 0, 6, 0, 0, 0, 2, true},
                      DimMove{0, 1, 0, 6, 0, 0, 0, 1, true, 2},
                      DimMove{0, 1, 0, 6, 0, 0, 0, 1, false, 0},
                      DimMove{0, 1, 0, 6, 0, 0, 0, 1, false, INT64_MAX / 4},
                      DimMove{0, 2, 0, 6, 0, 0, 0, 1, false, 4}})
    expectRefused([&](Plan &plan) { move(plan, {7, 6}, {whole, bad}); }, unfit);
  expectRefused([&](Plan &plan) { move(plan, {9, 6}, {whole, whole}); }, "follows from its axes");
  expectRefused([&](Plan &plan) { move(plan, {6, 6}, {}); }, "takes [7, 6] to [6, 6], which has not the same elements");
  expectRefused([&](Plan &plan) { move(plan, {6, 7}, {}); }, "follows from its axes");
  expectRefused([](Plan &plan) { stepOf<CollectiveStartStep>(plan, 3).id = 0; },
                "collective 0 comes after collective 0");
  expectRefused([](Plan &plan) { stepOf<CollectiveDoneStep>(plan, 4).id = 3; }, "was not started in this block");
  expectRefused([](Plan &plan) { plan.steps.erase(plan.steps.begin() + 5); },
                "collective 1 is started and not finished");
  expectRefused(
      [](Plan &plan) {
        auto &inner = stepOf<IfStep>(plan, 10).thenSteps[0];
        std::get<CollectiveStartStep>(inner.op).desc.pairs.push_back({2, 1});
      },
      "has the pair (2, 1)");
}

TEST(PlanVerifier, roots_of_broadcasts) {
  expectRefused([](Plan &plan) { stepOf<CollectiveStartStep>(plan, 2).root = 0; },
                "that is not a broadcast has a root");
  auto broadcast = [](Plan &plan) -> CollectiveStartStep & {
    auto &start = stepOf<CollectiveStartStep>(plan, 2);
    start.desc.kind = CollectiveKind::CollectiveBroadcast;
    return start;
  };
  expectRefused([&](Plan &plan) { broadcast(plan); }, "a collective has no root");
  expectRefused([&](Plan &plan) { broadcast(plan).root = 0; },
                "the root of a collective_broadcast is f32[2, 3] and must be i32[]");
  expectRefused([&](Plan &plan) { broadcast(plan).root = 99; }, "99");
  expectRefused(
      [&](Plan &plan) {
        CollectiveStartStep &start = broadcast(plan);
        start.root = 0;
        start.desc.resultShape = {3, 2};
      },
      "follows from its axes");
}

TEST(PlanVerifier, aliases) {
  expectRefused([](Plan &plan) { plan.aliases = {0, -1}; }, "parameter 0 cannot be overwritten by result 0");
  expectRefused([](Plan &plan) { plan.aliases = {-1}; }, "1 aliases for 2 parameters");
  expectRefused([](Plan &plan) { plan.aliases = {5, -1}; }, "alias 0 names value 5 of 2");
}

} // namespace
