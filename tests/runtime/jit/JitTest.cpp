#include "runtime/api/include/spmd/spmd.h"
#include "tests/runtime/api/ApiTestSupport.h"

#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace spmd;
using namespace spmd::testing_api;
using testing::Each;
using testing::HasSubstr;

namespace {

class Jit : public testing::Test {
protected:
  LocalJob job{8};
};

// The tutorial's toy: the sum of the sines of 0 ... 31 over all devices.
TEST_F(Jit, toy_of_the_tutorial) {
  Mesh mesh = make_mesh({4, 2}, {"i", "j"});
  std::vector<float> values = counting(32);
  Array x = device_put(view(values, {4, 8}), NamedSharding(mesh, P("i", "j")));
  Function total = jit("mesh m(i=4, j=2)\nfn main(x: f32[4@i, 8@j]) -> f32 { return sum(sin(x)); }");
  float first = total(x)[0].item<float>();
  EXPECT_NEAR(first, -0.12398731f, 2e-6);
  EXPECT_EQ(total(x)[0].item<float>(), first);
}

// Its matrix product: rows over `a`, one all_reduce over `b`, and the drawing of the sharding.
TEST_F(Jit, relu_of_a_product) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  std::vector<float> x(64 * 32, 1), y(32 * 64, 1);
  Function layer = jit("mesh m(a=4, b=2)\n"
                       "fn main(x: f32[64@a, 32@b], y: f32[32@b, 64]) -> f32[64, 64] { return relu(x @ y); }");
  Array z = layer(device_put(view(x, {64, 32}), NamedSharding(mesh, P("a", "b"))),
                  device_put(view(y, {32, 64}), NamedSharding(mesh, P("b", nullptr))))[0];
  EXPECT_THAT(z.to_host<float>(), Each(32.0f));
  EXPECT_EQ(z.sharding(), NamedSharding(mesh, P("a", nullptr)));
  EXPECT_THAT(visualize_array_sharding(z), HasSubstr("│        CPU 0,1        │\n├───────────────────────┤\n"));
  std::string plan = layer.as_text("plan");
  size_t first = plan.find("all_reduce sum over (b)");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(plan.find("all_reduce", first + 1), std::string::npos);
}

TEST_F(Jit, mistakes_are_the_compilers_messages) {
  Function wrong = jit("mesh m(i=8)\nfn main(x: f32[8@i]) -> f32 { return sum(y); }", {.file_name = "wrong.spmd"});
  EXPECT_THAT(messageOf([&] { wrong.parameters(); }), HasSubstr("wrong.spmd:2:42: error: "));
  // Of options: with the name of the field.
  std::string text = "mesh m(i=8)\nconst N = 1;\nfn main(x: f32[8@i]) -> f32 { return sum(x); }";
  EXPECT_THAT(messageOf([&] { jit(text, {.function = "mian"}).parameters(); }),
              HasSubstr("JitOptions::function:1:1: error: the program has no function 'mian'"));
  EXPECT_THAT(messageOf([&] { jit(text, {.constants = {{"M", "1"}}}).parameters(); }),
              HasSubstr("JitOptions::constants:1:1: error: the program has no const 'M'"));
  EXPECT_THAT(messageOf([&] { jit("fn f() { return 1.0; }").parameters(); }),
              HasSubstr("the entry is 'main' or what JitOptions::function names"));
}

TEST_F(Jit, constants_mesh_and_function_are_options) {
  Mesh mesh = make_mesh({2, 4}, {"i", "j"});
  Function scale = jit("mesh m(i=4, j=2)\nconst N = 3;\nfn twice(x: f32[N@i]) -> f32[N] { return x * 2.0; }",
                       {.function = "twice", .mesh = mesh, .constants = {{"N", "5"}}});
  std::vector<float> values = counting(5);
  Array x = device_put(view(values), NamedSharding(mesh, P("i")));
  EXPECT_THAT(scale(x)[0].to_host<float>(), testing::ElementsAre(0, 2, 4, 6, 8));
}

// On this process's first device, as language.md says.
TEST_F(Jit, a_program_without_a_mesh_runs_on_one_device) {
  EXPECT_EQ(jit("fn main() { return 1.0; }")()[0].item<float>(), 1);
  Array x = device_put(view(counting(3)), local_devices()[0]);
  Array y = jit("fn main(x: f32[3]) { return x + 1; }")(x)[0];
  EXPECT_THAT(y.to_host<float>(), testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(y.sharding().mesh().device_ids(), std::vector<int64_t>{0});
  Function one = jit("mesh m(i=1)\nfn main() { return 1.0; }");
  EXPECT_THAT(messageOf([&] { one(); }), HasSubstr("Mesh('i': 1) has 1 position and the job has 8 devices"));
}

// In the folder that the environment names; a second function of the same text is the first one's program.
TEST_F(Jit, programs_are_kept_for_the_next_process) {
  TemporaryFolder folder;
  const char *before = std::getenv("SPMD_NO_CACHE");
  ::unsetenv("SPMD_NO_CACHE");
  ::setenv("SPMD_CACHE_DIR", folder.str().c_str(), 1);
  auto sumOfCounting = [] {
    Mesh mesh = make_mesh({8}, {"i"});
    std::vector<float> values = counting(8);
    Function total = jit("mesh m(i=8)\nfn main(x: f32[8@i]) -> f32 { return sum(x); }");
    return total(device_put(view(values), NamedSharding(mesh, P("i"))))[0].item<float>();
  };
  EXPECT_EQ(sumOfCounting(), 28);
  EXPECT_EQ(folder.fileCount(), 1u);
  EXPECT_EQ(sumOfCounting(), 28);
  EXPECT_EQ(folder.fileCount(), 1u);
  ::unsetenv("SPMD_CACHE_DIR");
  if (before)
    ::setenv("SPMD_NO_CACHE", "1", 1);
}

// A tensor of another library has only the alignment of its elements: kernels, products and collectives accept it.
TEST(JitMemory, others_memory_is_aligned_to_its_elements) {
  LocalJob job(2);
  Mesh mesh = make_mesh({2}, {"i"});
  constexpr int64_t kRows = 37, kColumns = 29;
  std::vector<float> expected;
  for (int64_t i = 0; i < 2 * kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j)
      expected.push_back(std::max(0.0f, static_cast<float>(kColumns) * static_cast<float>(i % kRows) - 500.0f));
  std::vector<std::vector<float>> memory;
  std::vector<DLManagedTensor> tensors(2);
  std::vector<int64_t> shape = {kRows, kColumns};
  std::vector<Array> parts;
  for (size_t d = 0; d < 2; ++d) {
    std::vector<float> &values = memory.emplace_back(1);
    for (int64_t i = 0; i < kRows; ++i)
      values.insert(values.end(), kColumns, static_cast<float>(i));
    tensors[d].dl_tensor = {values.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape.data(), nullptr, sizeof(float)};
    parts.push_back(from_dlpack(&tensors[d], local_devices()[d]));
  }
  Array x = make_array_from_single_device_arrays({2 * kRows, kColumns}, NamedSharding(mesh, P("i")), parts);
  std::vector<float> ones(kColumns * kColumns, 1);
  Array w = device_put(view(ones, {kColumns, kColumns}), NamedSharding(mesh, P()));
  Function layer = jit("mesh m(i=2)\nfn main(x: f32[74@i, 29], w: f32[29, 29]) -> (f32[74, 29], f32) {\n"
                       "  return (relu(x @ w - 500.0), sum(x));\n}");
  std::vector<Array> results = layer(x, w);
  EXPECT_EQ(results[0].to_host<float>(), expected);
  EXPECT_EQ(results[1].item<float>(), 2.0f * kColumns * (kRows * (kRows - 1) / 2));
}

// An index counts the results as the program returns them, as in `--output`.
TEST_F(Jit, a_result_is_taken_by_name_or_index) {
  Function f = jit("mesh m(i=8)\nstruct P { w: f32[8@i], b: f32 }\n"
                   "fn main(p: P) { let q = p * 2.0; return (q, p.b + 1.0, p); }");
  std::vector<ValueDescription> results = f.results();
  ASSERT_EQ(results.size(), 5u);
  std::vector<int64_t> numbers;
  for (const ValueDescription &result : results)
    numbers.push_back(result.index);
  EXPECT_THAT(numbers, testing::ElementsAre(0, 0, 1, 2, 2));
  Mesh mesh = make_mesh({8}, {"i"});
  std::vector<float> b = {3};
  std::vector<Array> arrays =
      f(device_put(view(counting(8)), NamedSharding(mesh, P("i"))), device_put(view(b, {}), NamedSharding(mesh, P())));
  EXPECT_EQ(f.result(arrays, "0").size(), 2u);
  EXPECT_EQ(f.result(arrays, "q")[0].to_host<float>()[7], 14);
  EXPECT_EQ(f.result(arrays, "0.b")[0].item<float>(), 6);
  EXPECT_EQ(f.result(arrays, "1")[0].item<float>(), 4);
  EXPECT_EQ(f.result(arrays, "p").size(), 2u);
  EXPECT_EQ(f.result(arrays, "2")[1].item<float>(), 3);
  EXPECT_THAT(messageOf([&] { f.result(arrays, "3"); }),
              HasSubstr("there is no result '3'; there are q.w, q.b, 1, p.w, p.b"));
  EXPECT_THAT(messageOf([&] { f.result({}, "0"); }),
              HasSubstr("result() is given 0 arrays, and a call of this function "
                        "returns 5"));
}

TEST(JitChecks, a_nan_is_an_error_where_that_is_asked_for) {
  initialize({.num_processes = 1, .devices_per_process = 8});
  const char *source = "mesh m(i=8)\nfn main(x: f32[8@i]) -> f32[8@i] {\n  return sqrt(x);\n}";
  Mesh mesh = make_mesh({8}, {"i"});
  std::vector<float> values = {0, 1, 4, 9, 16, -1, 36, 49};
  Array x = device_put(view(values), NamedSharding(mesh, P("i")));
  EXPECT_TRUE(std::isnan(jit(source)(x)[0].to_host<float>()[5]));
  Function checked = jit(source, {.file_name = "root.spmd", .check_nans = true});
  // As with JAX's debug_nans, the call throws.
  EXPECT_THAT(messageOf([&] { checked(x); }),
              testing::AllOf(HasSubstr("cpu:5: step 0 ("), HasSubstr("root.spmd:3:"),
                             HasSubstr(") made a NaN in launch 1; result '0' has it at [5]")));
  EXPECT_THROW(checked(x), NanError);
  // Only that call fails: later calls of this and other functions work, and so does shutdown.
  values[5] = 25;
  Array y = device_put(view(values), NamedSharding(mesh, P("i")));
  EXPECT_EQ(checked(y)[0].to_host<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(std::isnan(jit(source)(x)[0].to_host<float>()[5]));
  shutdown();
}

} // namespace
