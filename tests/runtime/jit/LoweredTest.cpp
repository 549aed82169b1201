#include "compiler/inspection/ProgramTotals.h"
#include "runtime/api/include/spmd/spmd.h"
#include "runtime/artifact/WireBytes.h"
#include "tests/runtime/api/ApiTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::testing_api;
using testing::AllOf;
using testing::HasSubstr;

namespace {

constexpr const char *kLayer = "mesh m(a=4, b=2)\n"
                               "fn main(x: f32[64@a, 32@b], y: f32[32@b, 64]) -> f32[64, 64] {\n"
                               "  return relu(x @ y);\n"
                               "}";

/// The same program, compiled as by `spmdc compile`.
Function loaded(const std::string &source) {
  spmdc::Compiler compiler("program.spmd", source);
  std::optional<Artifact> artifact = compiler.compile();
  if (!artifact)
    throw Error(compiler.errors());
  return load(std::make_shared<const Artifact>(std::move(*artifact)));
}

class LoweredPrograms : public testing::Test {
protected:
  LocalJob job{8};
};

// On each device: 16 rows of 64 columns, half of the 32 products; an all_reduce of them sends half twice.
TEST_F(LoweredPrograms, costs_and_memory_of_each_device) {
  Lowered lowered = jit(kLayer).lower();
  CostAnalysis cost = lowered.cost_analysis();
  EXPECT_EQ(cost.flops(), 2 * 16 * 16 * 64 + 16 * 64);
  EXPECT_EQ(cost.wire_bytes(), 16 * 64 * 4);
  EXPECT_EQ(cost.collectives(), 1);
  EXPECT_GE(cost.bytes_accessed(), (16 * 16 + 16 * 64 + 16 * 64) * 4);
  EXPECT_GT(cost.optimal_seconds(), 0);
  CompiledMemoryStats memory = lowered.memory_analysis();
  EXPECT_EQ(memory.argument_size_in_bytes, (16 * 16 + 16 * 64) * 4);
  EXPECT_EQ(memory.output_size_in_bytes, 16 * 64 * 4);
  EXPECT_EQ(memory.constant_size_in_bytes, 0);
  EXPECT_EQ(memory.peak_memory_in_bytes,
            memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes);
}

TEST_F(LoweredPrograms, every_stage_has_its_text) {
  Lowered lowered = jit(kLayer).lower();
  EXPECT_THAT(lowered.as_text("ast"), HasSubstr("relu"));
  EXPECT_THAT(lowered.as_text("array"), HasSubstr("array.dot_general"));
  EXPECT_THAT(lowered.as_text("stablehlo"), HasSubstr("stablehlo.dot_general"));
  EXPECT_THAT(lowered.as_text("propagated"), HasSubstr("64@a"));
  EXPECT_THAT(lowered.as_text("partitioned"), HasSubstr("spmd.all_reduce"));
  EXPECT_THAT(lowered.as_text("kernels"), HasSubstr("plan.kernel"));
  EXPECT_THAT(lowered.as_text("plan"), HasSubstr("all_reduce sum over (b)"));
  EXPECT_THAT(lowered.as_text("llvm"), HasSubstr("define"));
  EXPECT_THAT(lowered.as_text("asm"), HasSubstr(".text"));
  EXPECT_THAT(jit(kLayer, {.target = "cuda:sm_90"}).lower().as_text("ptx"), HasSubstr(".target sm_90"));
  for (bool allowed : {false, true})
    EXPECT_EQ(jit(kLayer, {.target = "cuda:sm_90", .allow_tf32 = allowed}).lower().as_text("plan").find("in tf32") !=
                  std::string::npos,
              allowed);
}

// An unknown stage, or one that the target lacks, is an error; the function works afterwards.
TEST_F(LoweredPrograms, stages_that_there_are_none_of) {
  Function layer = jit(kLayer);
  EXPECT_EQ(messageOf([&] { layer.as_text("hlo"); }), "there is no stage 'hlo'; there are ast, array, propagated, "
                                                      "partitioned, kernels, plan, llvm, ptx, asm, stablehlo");
  EXPECT_EQ(messageOf([&] { layer.as_text("ptx"); }),
            "code for the target 'cpu' has no stage 'ptx'; jit with the target \"cuda:sm_90\" has it");
  EXPECT_EQ(messageOf([&] { jit(kLayer, {.target = "cuda:sm_90"}).as_text("asm"); }),
            "code for the target 'cuda:sm_90' has no stage 'asm'; its code is 'ptx'");
  EXPECT_THAT(messageOf([&] { jit(kLayer, {.target = "tpu"}).lower(); }),
              HasSubstr("'tpu' is not a target; targets are cpu"));
  EXPECT_THAT(layer.as_text("plan"), HasSubstr("all_reduce"));
}

// The stages before an error can be printed; lower() throws the error at each call.
TEST_F(LoweredPrograms, mistakes_of_the_program) {
  Function wrong = jit("mesh m(i=8)\nfn main(x: f32[8@i]) -> f32 { return sum(y); }", {.file_name = "wrong.spmd"});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(messageOf([&] { wrong.lower(); }), HasSubstr("wrong.spmd:2:42: error: "));
    EXPECT_THAT(wrong.as_text("ast"), HasSubstr("sum"));
  }
}

// IR has no syntax tree and no earlier stages; asking for them is not an error of the program.
TEST_F(LoweredPrograms, a_module_has_the_stages_from_its_own_on) {
  Function module = jit(jit(kLayer).as_text("propagated"), {.file_name = "layer.mlir"});
  EXPECT_THAT(messageOf([&] { module.as_text("array"); }), HasSubstr("is past the stage 'array'"));
  EXPECT_THAT(module.as_text("plan"), HasSubstr("all_reduce sum over (b)"));
}

TEST_F(LoweredPrograms, arguments_are_checked_as_in_a_call) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  std::vector<float> ones(64 * 32, 1);
  Array x = device_put(view(ones, {64, 32}), NamedSharding(mesh, P("a", "b")));
  Array y = device_put(view(ones, {32, 64}), NamedSharding(mesh, P("b")));
  Function layer = jit(kLayer);
  EXPECT_EQ(layer.lower(x, y).cost_analysis().collectives(), 1);
  EXPECT_EQ(messageOf([&] { layer.lower(y, x); }), messageOf([&] { layer(y, x); }));
  EXPECT_THAT(messageOf([&] { layer.lower(x); }), HasSubstr("'main' takes 2 arguments and is given 1"));
  Array whole = device_put(y, NamedSharding(mesh, P()));
  EXPECT_THAT(messageOf([&] { layer.lower(x, whole); }),
              HasSubstr("pass device_put(array, NamedSharding(mesh, P(b, _)))"));
}

TEST_F(LoweredPrograms, compiled_is_the_function_itself) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  std::vector<float> ones(64 * 32, 1);
  Array x = device_put(view(ones, {64, 32}), NamedSharding(mesh, P("a", "b")));
  Array y = device_put(view(ones, {32, 64}), NamedSharding(mesh, P("b")));
  Function layer = jit(kLayer).lower().compile();
  EXPECT_THAT(layer(x, y)[0].to_host<float>(), testing::Each(32.0f));
  EXPECT_EQ(layer.cost_analysis().wire_bytes(), 16 * 64 * 4);
  EXPECT_THAT(messageOf([] { Lowered().as_text("plan"); }), HasSubstr("a Lowered without a program is used"));
}

// The costs of a program beyond its budget can be queried.
TEST_F(LoweredPrograms, a_budget_is_for_those_who_compile) {
  Lowered lowered = jit("budget collectives = 0;\n" + std::string(kLayer)).lower();
  EXPECT_EQ(lowered.cost_analysis().collectives(), 1);
  EXPECT_THAT(messageOf([&] { lowered.compile(); }), HasSubstr("collectives"));
  EXPECT_EQ(lowered.cost_analysis().collectives(), 1);
}

// The plan gives the bytes sent and the memory. FLOP and the number of collectives need the program, because the plan
// combines several collectives into one call.
TEST_F(LoweredPrograms, a_loaded_artifact_knows_what_follows_from_its_plan) {
  Lowered artifact = loaded(kLayer).lower(), source = jit(kLayer).lower();
  EXPECT_EQ(artifact.cost_analysis().wire_bytes(), source.cost_analysis().wire_bytes());
  EXPECT_EQ(artifact.memory_analysis().peak_memory_in_bytes, source.memory_analysis().peak_memory_in_bytes);
  EXPECT_THAT(artifact.as_text("plan"), HasSubstr("all_reduce sum over (b)"));
  EXPECT_THAT(messageOf([&] { artifact.as_text("llvm"); }),
              AllOf(HasSubstr("has the stage 'plan' only and not 'llvm'"), HasSubstr("jit() of its source")));
  for (const std::string &message : {messageOf([&] { artifact.cost_analysis().flops(); }),
                                     messageOf([&] { artifact.cost_analysis().bytes_accessed(); }),
                                     messageOf([&] { artifact.cost_analysis().optimal_seconds(); }),
                                     messageOf([&] { artifact.cost_analysis().collectives(); })})
    EXPECT_THAT(message, AllOf(HasSubstr("a loaded artifact does not know its "), HasSubstr("`spmdc inspect`")));
}

// Loops, and several transfers as one call.
TEST_F(LoweredPrograms, plans_send_what_the_report_says) {
  for (const char *source :
       {"mesh m(i=8)\nfn main(x: f32[64@i]) -> f32 {\n"
        "  return for k in 0..5 carry (s = 1.0) { yield s + sum(x * s); };\n}",
        "mesh m(i=8)\nfn main(x: f32[64@i], y: f32[64@i]) -> (f32, f32) {\n  return (sum(x), sum(y));\n}"}) {
    double wire = jit(source).cost_analysis().wire_bytes();
    EXPECT_GT(wire, 0) << source;
    EXPECT_EQ(loaded(source).cost_analysis().wire_bytes(), wire) << source;
  }
}

// A collective matmul saves time, too.
TEST(LoweredPlans, rings_send_what_the_report_says) {
  spmdc::CompileOptions options;
  options.costModel.link = {.latencyMicroseconds = 0, .bytesPerSecond = 1e9, .overlap = 1};
  options.costModel.flopsPerSecond = 1e10;
  options.costModel.memoryPerSecond = 1e18;
  spmdc::Compiler compiler("ring.spmd",
                           "mesh m(t=8)\n"
                           "fn main(x: f32[64@t, 32@_], w1: f32[32@_, 256@t], w2: f32[256@t, 48@_]) -> f32[64@t, 48@_] "
                           "{\n  return tanh(x @ w1) @ w2;\n}",
                           options);
  std::optional<spmdc::Inspection> inspection = spmdc::inspectProgram(compiler);
  ASSERT_TRUE(inspection) << compiler.errors();
  ASSERT_NE(inspection->report.functions[0].collectives[0].ring, spmdc::RingDirections::None);
  EXPECT_EQ(wireBytesPerDevice(compiler.plan()->plan), totalsOf(*inspection).wireBytes);
}

} // namespace
