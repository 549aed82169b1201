//===- CostModelTest.cpp - predictions against numbers worked out by hand -===//

#include "passes/cost/CostModel.h"

#include <gtest/gtest.h>

namespace spmdc {
namespace {

CostModel parsed(std::string_view text) {
  std::string error;
  std::optional<CostModel> model = CostModel::parse(text, "costs.json", error);
  EXPECT_TRUE(model) << error;
  return model.value_or(CostModel());
}

std::string errorOf(std::string_view text) {
  std::string error;
  EXPECT_FALSE(CostModel::parse(text, "costs.json", error)) << text;
  return error;
}

constexpr std::string_view kTwoLinks = R"({
 "latency_us": 20, "bytes_per_second": 1e9, "flops_per_second": 2e12, "memory_bytes_per_second": 4e11,
 "axes": {"in_host": {"latency_us": 2, "bytes_per_second": 3e11}, "half": {"latency_us": 7}}
})";

TEST(CostModel, CollectivesByHand) {
  CostModel model = parsed(kTwoLinks);
  // 20 us for each of the two steps, 5 ms for 5 MB.
  EXPECT_DOUBLE_EQ(model.collectiveSeconds("all_reduce", {"hosts"}, 5e6), 2 * 20e-6 + 5e-3);
  EXPECT_DOUBLE_EQ(model.collectiveSeconds("all_gather", {"hosts"}, 5e6), 20e-6 + 5e-3);
  EXPECT_DOUBLE_EQ(model.collectiveSeconds("all_gather", {"in_host"}, 3e6), 2e-6 + 1e-5);
  // Keys that an axis lacks have the general values, even if these come later in the file.
  EXPECT_DOUBLE_EQ(model.collectiveSeconds("reduce_scatter", {"half"}, 1e6), 7e-6 + 1e-3);
  // A part of an axis has the axis's rates; several axes have the slower of each rate.
  EXPECT_DOUBLE_EQ(model.collectiveSeconds("all_to_all", {"in_host:(2)4"}, 3e6), 2e-6 + 1e-5);
  EXPECT_DOUBLE_EQ(model.collectiveSeconds("exchange", {"in_host", "half"}, 1e6), 7e-6 + 1e-3);
  EXPECT_EQ(parsed(R"({"axes": {"a": {"latency_us": 1}}, "bytes_per_second": 8e9, "overlap": 0.5})").axes["a"],
            (LinkRates{1, 8e9, 0.5}));
  EXPECT_EQ(parsed(R"({"overlap": 1, "axes": {"a": {"overlap": 0.25}}})").ratesOf({"a", "b"}).overlap, 0.25);
}

TEST(CostModel, ComputationIsAsLongAsItsLongerHalf) {
  CostModel model = parsed(kTwoLinks);
  EXPECT_DOUBLE_EQ(model.computeSeconds(4e12, 4e9), 2);
  EXPECT_DOUBLE_EQ(model.computeSeconds(4e9, 8e11), 2);
}

TEST(CostModel, AnOrderTakesAPassForEachTimeThatItsLineDoubles) {
  CostModel model = parsed(kTwoLinks);
  model.memoryPerSecond = 1e9;
  EXPECT_DOUBLE_EQ(model.sortSeconds(4096, 1024), 4096 * 10 * 32 / 1e9);
  EXPECT_DOUBLE_EQ(model.sortSeconds(4096, 1025), 4096 * 11 * 32 / 1e9);
  EXPECT_DOUBLE_EQ(model.sortSeconds(3, 1), 3 * 32 / 1e9);
}

TEST(CostModel, ReadsWhatItWrites) {
  EXPECT_EQ(parsed("{}"), CostModel());
  CostModel model = parsed(kTwoLinks);
  EXPECT_EQ(parsed(model.str()), model);
  EXPECT_EQ(parsed(CostModel().str()), CostModel());
  model.goal = Goal::Bytes;
  EXPECT_EQ(parsed(model.str()), model);
  EXPECT_EQ(parsed("{\"minimize\": \"time\"}"), CostModel());
}

TEST(CostModel, OneOfAGpuIsReadAsItIsWritten) {
  std::string error;
  EXPECT_EQ(CostModel::parse(CostModel::ofGpu().str(), "gpu.json", error), CostModel::ofGpu()) << error;
  EXPECT_NE(CostModel::ofGpu(), CostModel());
}

TEST(CostModel, WhereBytesAreMinimizedWorkWeighsNothing) {
  CostModel model = parsed(kTwoLinks);
  EXPECT_EQ(model.forGoal(), model);
  model.goal = Goal::Bytes;
  CostModel choices = model.forGoal();
  // A terabyte through memory, and a thousand steps, against one byte on a link.
  EXPECT_LT(choices.computeSeconds(1e15, 1e12), 1 / model.link.bytesPerSecond);
  EXPECT_LT(choices.ratesOf({"half"}).stepSeconds(0) * 1e3, 1 / model.link.bytesPerSecond);
  // The weights of slow links stay, and predictions do not use this model.
  EXPECT_EQ(choices.ratesOf({"in_host"}).bytesPerSecond, 3e11);
  EXPECT_DOUBLE_EQ(model.computeSeconds(4e12, 4e9), 2);
}

TEST(CostModel, MistakesHaveTheirPlace) {
  EXPECT_EQ(errorOf("{\n \"latency_us\": -1\n}"), "costs.json:2: error: 'latency_us' must be from 0 to 1e9");
  EXPECT_EQ(errorOf("{\n\n \"bytes_per_second\": 0}"),
            "costs.json:3: error: 'bytes_per_second' must be from 1 to 1e30");
  EXPECT_EQ(errorOf("{\"overlap\": 1.5}"), "costs.json:1: error: 'overlap' must be from 0 to 1");
  EXPECT_EQ(errorOf("{\"axes\": {\"a\": {\"overlap\": -1}}}"),
            "costs.json:1: error: 'axes.a.overlap' must be from 0 to 1");
  // With these values predictions would overflow.
  EXPECT_EQ(errorOf("{\"latency_us\": 1e308}"), "costs.json:1: error: 'latency_us' must be from 0 to 1e9");
  EXPECT_EQ(errorOf("{\"axes\": {\"a\": {\"bytes_per_second\": 1e-300}}}"),
            "costs.json:1: error: 'axes.a.bytes_per_second' must be from 1 to 1e30");
  EXPECT_EQ(errorOf("{\"flops_per_second\": 1e31}"), "costs.json:1: error: 'flops_per_second' must be from 1 to 1e30");
  EXPECT_EQ(parsed(R"({"latency_us": 1e9, "bytes_per_second": 1, "flops_per_second": 1e30})").link,
            (LinkRates{1e9, 1, 0}));
  EXPECT_EQ(errorOf("{\"flops_per_second\": \"fast\"}"), "costs.json:1: error: 'flops_per_second' is a number");
  EXPECT_EQ(errorOf("{\"axes\": {\"a\": {\"latency_us\": [1]}}}"),
            "costs.json:1: error: 'axes.a.latency_us' is a number");
  EXPECT_EQ(errorOf("{\"axes\": 3}"), "costs.json:1: error: 'axes' is an object with the mesh's axes as keys");
  EXPECT_EQ(errorOf("{\"axes\": {\"a\": 3}}"),
            "costs.json:1: error: 'axes.a' is an object with the keys latency_us, bytes_per_second, overlap");
  EXPECT_EQ(errorOf("{\"axes\": {\"a\": {\"latency\": 3}}}"),
            "costs.json:1: error: unknown key 'axes.a.latency'; there are latency_us, bytes_per_second, overlap");
  EXPECT_EQ(errorOf("{\"bandwidth\": 1}"),
            "costs.json:1: error: unknown key 'bandwidth'; there are latency_us, bytes_per_second, overlap, "
            "flops_per_second, memory_bytes_per_second, axes, minimize");
  EXPECT_EQ(errorOf("{\"minimize\": 3}"), "costs.json:1: error: 'minimize' is \"time\" or \"bytes\"");
  EXPECT_EQ(errorOf("{\"minimize\": \"energy\"}"), "costs.json:1: error: 'minimize' is \"time\" or \"bytes\"");
  EXPECT_EQ(errorOf("{\"minimize\": [\"time\"]}"), "costs.json:1: error: 'minimize' is \"time\" or \"bytes\"");
  EXPECT_EQ(errorOf("{\"axes\": {\"minimize\": \"time\"}}"),
            "costs.json:1: error: 'axes.minimize' is an object with the keys latency_us, bytes_per_second, overlap");
  EXPECT_EQ(errorOf("{\"latency_us\": 1,\n\"latency_us\": 2}"), "costs.json:2: error: 'latency_us' is given twice");
  EXPECT_EQ(errorOf("[1]"), "costs.json:1: error: a cost model is an object: {\"latency_us\": 10, "
                            "\"bytes_per_second\": 5e9}");
  EXPECT_NE(errorOf("{\n\"latency_us\": 1,,}").find("costs.json:2: error: this is not JSON: "), std::string::npos);
  EXPECT_NE(errorOf("").find("costs.json:1: error: the file is empty; a cost model is an object"), std::string::npos);
  EXPECT_NE(errorOf("{\"latency_us\": 1e999}").find("costs.json:1: error: the number is too large: "),
            std::string::npos);
}

TEST(CostModel, HarmfulFilesAreRefused) {
  errorOf(std::string(500000, '['));
  std::string deep;
  for (int i = 0; i < 50000; ++i)
    deep += "{\"axes\":";
  errorOf(deep);
  EXPECT_EQ(errorOf(std::string(2 << 20, ' ')), "costs.json: error: a cost model has at most 1 MiB");
}

TEST(CostModel, FitFindsTheRatesThatMadeTheSamples) {
  std::vector<CostModel::Sample> exact, noisy;
  for (double bytes : {4e3, 64e3, 1e6, 16e6})
    for (int64_t steps : {1, 2}) {
      double seconds = static_cast<double>(steps) * 25e-6 + bytes / 4e9;
      exact.push_back({steps, bytes, seconds});
      noisy.push_back({steps, bytes, seconds * (steps == 1 ? 1.1 : 0.9)});
    }
  EXPECT_NEAR(CostModel::fit(exact).latencyMicroseconds, 25, 1e-6);
  EXPECT_NEAR(CostModel::fit(exact).bytesPerSecond, 4e9, 1);
  EXPECT_NEAR(CostModel::fit(noisy).latencyMicroseconds, 25, 4);
  EXPECT_NEAR(CostModel::fit(noisy).bytesPerSecond, 4e9, 4e8);
  // Rates are never negative: larger messages that took less time say nothing about the bandwidth.
  LinkRates latencyOnly = CostModel::fit({{1, 1e3, 30e-6}, {1, 1e6, 20e-6}});
  EXPECT_GT(latencyOnly.latencyMicroseconds, 19);
  EXPECT_LT(latencyOnly.latencyMicroseconds, 31);
  EXPECT_GE(latencyOnly.bytesPerSecond, 1e12);
  LinkRates bandwidthOnly = CostModel::fit({{1, 1e6, 1e-3}, {2, 1e6, 1e-3}, {1, 2e6, 2.1e-3}});
  EXPECT_GE(bandwidthOnly.latencyMicroseconds, 0);
  EXPECT_NEAR(bandwidthOnly.bytesPerSecond, 1e9, 5e7);
}

} // namespace
} // namespace spmdc
