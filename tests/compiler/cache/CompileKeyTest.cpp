#include "compiler/cache/CompileKey.h"

#include "compiler/cache/CompilerIdentity.h"
#include "frontend/editor/ProgramIndex.h"
#include "passes/propagate/AxisProvenance.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

using namespace spmdc;

namespace {

using Change = std::function<void(CompileOptions &)>;

constexpr const char *kText = "mesh m(a=2)\nfn main(x: f32[4@a]) { return x; }\n";

std::optional<std::string> keyWith(const Change &change) {
  CompileOptions options;
  change(options);
  return compileKey("p.spmd", kText, options);
}

// Each option affects the artifact, its warnings or its errors. Structured bindings in CompileKey.cpp ensure that the
// key has every option; this test checks that each one changes the key.
const std::map<std::string, Change> &changes() {
  static const std::map<std::string, Change> all = {
      {"nothing", [](CompileOptions &) {}},
      {"set", [](CompileOptions &o) { o.frontend.sets = {{"N", "1"}}; }},
      {"set value", [](CompileOptions &o) { o.frontend.sets = {{"N", "2"}}; }},
      {"set twice", [](CompileOptions &o) { o.frontend.sets = {{"N", "1"}, {"N", "2"}}; }},
      {"set borders", [](CompileOptions &o) { o.frontend.sets = {{"N1", ""}}; }},
      {"mesh", [](CompileOptions &o) { o.frontend.meshOverride = "a=4"; }},
      {"function", [](CompileOptions &o) { o.frontend.function = "other"; }},
      {"backend", [](CompileOptions &o) { o.pipeline.backend = KernelTarget::Gpu; }},
      {"shared memory", [](CompileOptions &o) { o.pipeline.gpu.sharedBytes = 1; }},
      {"clusters", [](CompileOptions &o) { o.pipeline.gpu.clusterBlocks = 2; }},
      {"matrix units", [](CompileOptions &o) { o.pipeline.gpu.matrixUnit = MatrixUnit::Warp; }},
      {"bytes to free", [](CompileOptions &o) { o.pipeline.bytesToFree = 1; }},
      {"starts early", [](CompileOptions &o) { o.pipeline.startsEarly = false; }},
      {"latency", [](CompileOptions &o) { o.costModel.link.latencyMicroseconds = 11; }},
      {"latency, a little", [](CompileOptions &o) { o.costModel.link.latencyMicroseconds = 11.000000000000002; }},
      {"bandwidth", [](CompileOptions &o) { o.costModel.link.bytesPerSecond = 1e9; }},
      {"overlap", [](CompileOptions &o) { o.costModel.link.overlap = 0.5; }},
      {"rates of an axis", [](CompileOptions &o) { o.costModel.axes["a"] = {}; }},
      {"rates of another axis", [](CompileOptions &o) { o.costModel.axes["b"] = {}; }},
      {"other rates of an axis", [](CompileOptions &o) { o.costModel.axes["a"].overlap = 1; }},
      {"flops", [](CompileOptions &o) { o.costModel.flopsPerSecond = 1; }},
      {"what is minimized", [](CompileOptions &o) { o.costModel.goal = Goal::Bytes; }},
      {"what partial sums are rounded to", [](CompileOptions &o) { o.reducePrecision = spmd::DType::BF16; }},
      {"TF32", [](CompileOptions &o) { o.allowTf32 = true; }},
      {"memory rate", [](CompileOptions &o) { o.costModel.memoryPerSecond = 1; }},
      {"budget", [](CompileOptions &o) { o.budget = {{"memory", 100, ""}}; }},
      {"budget's limit", [](CompileOptions &o) { o.budget = {{"memory", 101, ""}}; }},
      {"budget's kind", [](CompileOptions &o) { o.budget = {{"wire", 100, ""}}; }},
      {"target", [](CompileOptions &o) { o.target = "cpu:x86-64-v3"; }},
      {"GPU", [](CompileOptions &o) { o.target = "cuda:sm_90"; }},
      {"optimization", [](CompileOptions &o) { o.optimizationLevel = 2; }},
      {"toolkit", [](CompileOptions &o) { o.cudaToolkit = "/cuda"; }},
  };
  return all;
}

TEST(CompileKey, changes_with_each_option) {
  std::map<std::string, std::string> names;
  for (const auto &[name, change] : changes()) {
    std::optional<std::string> key = keyWith(change);
    ASSERT_TRUE(key) << name;
    EXPECT_EQ(key, keyWith(change)) << name;
    auto [known, isNew] = names.emplace(*key, name);
    EXPECT_TRUE(isNew) << "`" << name << "` has the key of `" << known->second << "`";
  }
}

// The artifact contains the file name, for messages at run time.
TEST(CompileKey, changes_with_text_and_name) {
  std::optional<std::string> key = compileKey("p.spmd", kText, {});
  ASSERT_TRUE(key);
  EXPECT_EQ(key->size(), 64u);
  EXPECT_NE(key, compileKey("p.spmd", std::string(kText) + "\n", {}));
  EXPECT_NE(key, compileKey("q.spmd", kText, {}));
  EXPECT_NE(key, compileKey("p.spmd" + std::string(kText), "", {}));
}

TEST(CompileKey, there_is_none_where_passes_have_to_run) {
  PropagationLog log;
  std::vector<PassDump> dumps;
  EXPECT_FALSE(keyWith([](CompileOptions &o) { o.pipeline.dumpDirectory = "d"; }));
  EXPECT_FALSE(keyWith([](CompileOptions &o) { o.pipeline.remarks = true; }));
  EXPECT_FALSE(keyWith([&](CompileOptions &o) { o.pipeline.dumps = &dumps; }));
  EXPECT_FALSE(keyWith([&](CompileOptions &o) { o.pipeline.propagationLog = &log; }));
  ProgramIndex index;
  EXPECT_FALSE(keyWith([&](CompileOptions &o) { o.frontend.index = &index; }));
}

// Versions, and two builds: of this program and of the C library's mathematics.
TEST(CompileKey, knows_the_compiler) {
  ASSERT_TRUE(compilerIdentity());
  EXPECT_GT(compilerIdentity()->size(), std::string("spmdc , LLVM , ").size() + 40);
}

} // namespace
