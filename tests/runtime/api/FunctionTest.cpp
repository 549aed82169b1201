#include "runtime/artifact/ArtifactFile.h"
#include "runtime/support/File.h"
#include "tests/runtime/api/ApiTestSupport.h"
#include "tests/runtime/api/ExampleProgram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

using namespace spmd;
using namespace spmd::testing_api;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class Functions : public testing::Test {
protected:
  LocalJob job{4};
  Mesh mesh = make_mesh({4}, {"i"});
  std::vector<float> values = counting(8);
};

TEST_F(Functions, a_loaded_program_is_called_and_called_again) {
  Function function = load(sumAndGather());
  Array x = device_put(view(values), NamedSharding(mesh, P("i")));
  for (int i = 0; i < 3; ++i) {
    std::vector<Array> results = function(x);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].name(), "sum");
    EXPECT_THAT(results[0].to_host<float>(), ElementsAre(0 + 2 + 4 + 6, 1 + 3 + 5 + 7));
    EXPECT_EQ(results[1].to_host<float>(), values);
    EXPECT_TRUE(results[1].is_fully_replicated());
  }
  EXPECT_THAT(function.as_text("plan"), HasSubstr("all_gather over (i) concat 0 %0"));
  EXPECT_EQ(function.parameters()[0].sharding, NamedSharding(mesh, P("i")));
}

// A job of CPU devices takes the program for CPUs out of a file for several targets.
TEST_F(Functions, a_file_with_several_targets_has_one_for_these_devices) {
  std::vector<Artifact> artifacts(3, *sumAndGather());
  artifacts[0].plan.target = {"cuda", "sm_90", {}};
  artifacts[1].plan.target = {"cpu", "any", {}};
  artifacts[2].plan.target = {"cuda", "sm_80", {}};
  std::string path = std::filesystem::temp_directory_path() / ("spmd-targets-" + std::to_string(getpid()) + ".spmdx");
  writeFileAtomically(path, encodeArtifacts(artifacts));
  Function function = load(path);
  EXPECT_THAT(function.as_text("plan"), HasSubstr("plan main for cpu:any"));
  Array x = device_put(view(values), NamedSharding(mesh, P("i")));
  EXPECT_EQ(function(x)[1].to_host<float>(), values);
  artifacts.erase(artifacts.begin() + 1);
  writeFileAtomically(path, encodeArtifacts(artifacts));
  EXPECT_EQ(messageOf([&] { load(path); }), "'" + path +
                                                "' is compiled for cuda:sm_90 and cuda:sm_80, and the platform is cpu; "
                                                "compile it with --target=cpu, too");
  std::filesystem::remove(path);
}

// Results of running calls are arguments of the next calls; the program does not wait in between.
TEST_F(Functions, calls_may_follow_without_waiting) {
  Function function = load(sumAndGather());
  NamedSharding cut(mesh, P("i"));
  Array x = device_put(view(values), cut);
  for (int i = 0; i < 200; ++i)
    x = device_put(function(x)[1], cut);
  EXPECT_EQ(x.to_host<float>(), values);
}

TEST_F(Functions, wrong_arguments_are_named_with_the_remedy) {
  Function function = load(sumAndGather());
  Array x = device_put(view(values), NamedSharding(mesh, P()));
  EXPECT_EQ(messageOf([&] { function(x); }),
            "argument 0 of 'main' is f32[8] @ P() on Mesh('i': 4) and parameter 'x' is f32[8] @ P(i) on Mesh('i': 4); "
            "pass device_put(array, NamedSharding(mesh, P(i)))");
  EXPECT_THAT(messageOf([&] { function(x, x); }), HasSubstr("'main' takes 1 arguments and is given 2"));
  std::vector<float> short_ = counting(4);
  Array y = device_put(view(short_), NamedSharding(mesh, P("i")));
  EXPECT_THAT(messageOf([&] { function(y); }), HasSubstr("argument 0 of 'main' is f32[4] and parameter 'x' is f32[8]"));
  EXPECT_THAT(messageOf([&] { function.as_text("llvm"); }), HasSubstr("has the stage 'plan' only"));
}

// An all_reduce of 8 bytes over 4 devices, an all_gather to 32 bytes, and the memory of each value on a device.
TEST_F(Functions, what_a_loaded_program_costs_follows_from_its_plan) {
  Function function = load(sumAndGather());
  Array x = device_put(view(values), NamedSharding(mesh, P("i")));
  Lowered lowered = function.lower(x);
  EXPECT_EQ(lowered.cost_analysis().wire_bytes(), 2 * 8 * 3 / 4 + 32 * 3 / 4);
  CompiledMemoryStats memory = lowered.memory_analysis();
  EXPECT_EQ(memory.argument_size_in_bytes, 8);
  EXPECT_EQ(memory.output_size_in_bytes, 8 + 32);
  EXPECT_EQ(memory.temp_size_in_bytes, 0);
  EXPECT_EQ(memory.peak_memory_in_bytes, 8 + 8 + 32);
  EXPECT_EQ(lowered.as_text("plan"), function.as_text("plan"));
  EXPECT_THAT(lowered.compile()(x)[1].to_host<float>(), values);
  EXPECT_THAT(messageOf([&] { lowered.cost_analysis().flops(); }),
              HasSubstr("a loaded artifact does not know its flops"));
  EXPECT_THAT(messageOf([&] { function.lower(x, x); }), HasSubstr("'main' takes 1 arguments and is given 2"));
}

// An argument with the right layout is accepted even if the axes of its mesh have other names.
TEST_F(Functions, another_mesh_with_the_same_layout_is_accepted) {
  Function function = load(sumAndGather());
  Mesh other({2, 2}, {"u", "v"}, devices());
  Array x = device_put(view(values), NamedSharding(other, P(axes("u", "v"))));
  EXPECT_EQ(function(x)[1].to_host<float>(), values);
}

TEST_F(Functions, a_mesh_that_does_not_fit_is_an_error_with_both_numbers) {
  auto artifact = sumAndGather();
  artifact->plan.mesh.axes[0].size = 8;
  EXPECT_THAT(messageOf([&] { load(artifact); }), HasSubstr("Mesh('i': 8) has 8 positions and the job has 4 devices"));
  EXPECT_THAT(messageOf([&] { load(sumAndGather(), Mesh({2}, {"i"}, {devices()[0], devices()[1]})); }),
              HasSubstr("the program is for Mesh('i': 4) and is given Mesh('i': 2)"));
}

} // namespace
