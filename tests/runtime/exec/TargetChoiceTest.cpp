#include "runtime/exec/TargetChoice.h"

#include "runtime/device/cuda/Architecture.h"
#include "runtime/support/Error.h"
#include "tests/support/Messages.h"

#include <gmock/gmock.h>

#include <algorithm>

using namespace spmd;
using spmd::cuda::Architecture;
using spmd::test::messageOf;
using testing::HasSubstr;

namespace {

TargetInfo gpuTarget(const std::string &architecture) { return {"cuda", architecture, {}}; }

/// A machine with these GPUs.
TargetMachine gpus(const std::vector<int> &capabilities) {
  TargetMachine machine{.platform = "cuda"};
  for (size_t i = 0; i < capabilities.size(); ++i)
    machine.gpus.push_back({"GPU " + std::to_string(i), capabilities[i]});
  machine.whyNoGpus = "there is no driver";
  return machine;
}

/// A CPU with these features.
TargetMachine cpuWith(std::vector<std::string> features) {
  TargetMachine machine;
  machine.missingFeatures = [features = std::move(features)](const std::vector<std::string> &needed) {
    std::vector<std::string> missing;
    for (const std::string &feature : needed)
      if (std::find(features.begin(), features.end(), feature) == features.end())
        missing.push_back(feature);
    return missing;
  };
  return machine;
}

std::string choose(const std::vector<TargetInfo> &targets, const TargetMachine &machine) {
  return targets[chooseTarget(targets, "t.spmdx", machine)].str();
}

std::string refusal(const std::vector<TargetInfo> &targets, const TargetMachine &machine) {
  return messageOf([&] { chooseTarget(targets, "t.spmdx", machine); });
}

TEST(TargetChoice, architectures) {
  auto runs = [](const char *name, int capability) {
    std::optional<Architecture> architecture = Architecture::parse(name);
    return architecture && architecture->runsOn(capability);
  };
  EXPECT_TRUE(runs("sm_80", 80));
  EXPECT_TRUE(runs("sm_80", 120));
  EXPECT_FALSE(runs("sm_80", 75));
  EXPECT_TRUE(runs("sm_90a", 90));
  EXPECT_FALSE(runs("sm_90a", 100));
  EXPECT_FALSE(runs("sm_90a", 89));
  for (const char *name : {"", "sm_", "sm_a", "sm_-1", "sm_90b", "sm_90aa", "90", "znver4", "sm_99999999999"})
    EXPECT_FALSE(Architecture::parse(name)) << name;
}

TEST(TargetChoice, the_newest_architecture_that_all_gpus_run) {
  std::vector<TargetInfo> targets = {{"cpu", "", {}}, gpuTarget("sm_80"), gpuTarget("sm_90"), gpuTarget("sm_90a")};
  EXPECT_EQ(choose(targets, gpus({80})), "cuda:sm_80");
  EXPECT_EQ(choose(targets, gpus({90})), "cuda:sm_90a");
  EXPECT_EQ(choose(targets, gpus({100})), "cuda:sm_90");
  EXPECT_EQ(choose(targets, gpus({90, 100})), "cuda:sm_90");
  EXPECT_EQ(choose(targets, gpus({90, 86, 90})), "cuda:sm_80");
  std::reverse(targets.begin(), targets.end());
  EXPECT_EQ(choose(targets, gpus({90})), "cuda:sm_90a");
}

TEST(TargetChoice, the_cpu_with_the_most_features) {
  std::vector<TargetInfo> targets = {{"cpu", "x86-64", {"sse2"}},
                                     {"cpu", "x86-64-v4", {"sse2", "avx2", "avx512f"}},
                                     {"cpu", "x86-64-v3", {"sse2", "avx2"}}};
  EXPECT_EQ(choose(targets, cpuWith({"sse2", "avx2", "avx512f"})), "cpu:x86-64-v4");
  EXPECT_EQ(choose(targets, cpuWith({"sse2", "avx2"})), "cpu:x86-64-v3");
  EXPECT_EQ(choose(targets, cpuWith({"sse2"})), "cpu:x86-64");
  EXPECT_EQ(
      refusal(targets, cpuWith({})),
      "'t.spmdx' is compiled for cpu:x86-64, cpu:x86-64-v4 and cpu:x86-64-v3, but this CPU lacks sse2 (cpu:x86-64), "
      "sse2 (cpu:x86-64-v4), avx2 (cpu:x86-64-v4), avx512f (cpu:x86-64-v4), sse2 (cpu:x86-64-v3), avx2 "
      "(cpu:x86-64-v3); compile it with --target=cpu:<its name>, too");
}

TEST(TargetChoice, of_equal_ones_the_first) {
  std::vector<TargetInfo> targets = {{"cpu", "znver4", {"avx2"}}, {"cpu", "sapphirerapids", {"avx512f"}}};
  EXPECT_EQ(choose(targets, cpuWith({"avx2", "avx512f"})), "cpu:znver4");
}

TEST(TargetChoice, an_error_lists_the_targets) {
  std::vector<TargetInfo> both = {{"cpu", "x86-64", {}}, gpuTarget("sm_90")};
  EXPECT_EQ(
      refusal(both, gpus({86, 80})),
      "'t.spmdx' is compiled for cpu:x86-64 and cuda:sm_90, and none of them runs on GPU 0 with sm_86, GPU 1 with "
      "sm_80; compile it with --target=cuda:sm_80, too");
  EXPECT_EQ(refusal(both, gpus({})),
            "'t.spmdx' is compiled for cpu:x86-64 and cuda:sm_90, but there is no driver; give --platform=cpu");
  std::vector<TargetInfo> forGpus = {gpuTarget("sm_80"), gpuTarget("sm_90")};
  EXPECT_EQ(refusal(forGpus, gpus({})), "'t.spmdx' is compiled for cuda:sm_80 and cuda:sm_90, but there is no driver; "
                                        "compile it with --target=cpu, too");
  EXPECT_EQ(refusal(forGpus, cpuWith({})), "'t.spmdx' is compiled for cuda:sm_80 and cuda:sm_90, and the platform is "
                                           "cpu; compile it with --target=cpu, too");
}

} // namespace
