//===- PartsTest.cpp - texts, names and groups of exported programs -------===//

#include "frontend/stablehlo/DeviceGroups.h"
#include "frontend/stablehlo/Names.h"
#include "frontend/stablehlo/ShardingTexts.h"
#include "frontend/stablehlo/TextForm.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace spmdc;
using namespace spmdc::stablehlo;
using ::testing::ElementsAre;

namespace {

//===- TextForm -----------------------------------------------------------===//

TEST(TextForm, RangesOfLinesAreFusedLocations) {
  EXPECT_EQ(toReadableText("loc(\"f.py\":3:4 to :9)"), "loc(fused<\"range\">[\"f.py\":3:5, \"f.py\":3:9])");
  EXPECT_EQ(toReadableText("loc(\"f.py\":3:4 to 5:2)"), "loc(fused<\"range\">[\"f.py\":3:5, \"f.py\":5:2])");
  EXPECT_EQ(toReadableText("loc(\"f.py\":3:4 to :4)"), "loc(fused<\"range\">[\"f.py\":3:5, \"f.py\":3:5])");
}

TEST(TextForm, OtherTextIsUnchanged) {
  for (const char *text :
       {"", "loc(\"f.py\":3:4)", "\"a \\\" b\":x", "loc(\"f.py\":3:4 to x)", "\"unterminated", "\"a\\",
        "\"f\":99999999999999999999:1 to :2", "dense<\"0x0A\"> : tensor<1xi8>", "\"0x\"> : tensor<3xi1>"})
    EXPECT_EQ(toReadableText(text), text);
}

TEST(TextForm, BoolsOfAByteAreBits) {
  EXPECT_EQ(toReadableText("dense<\"0x0100010101000000FF\"> : tensor<3x3xi1>"), "dense<\"0x1D01\"> : tensor<3x3xi1>");
  // Already a bit for each.
  EXPECT_EQ(toReadableText("dense<\"0x1D01\"> : tensor<3x3xi1>"), "dense<\"0x1D01\"> : tensor<3x3xi1>");
}

//===- Names --------------------------------------------------------------===//

TEST(Names, PathsOfJax) {
  EXPECT_EQ(nameOfPath("x"), "x");
  EXPECT_EQ(nameOfPath("p['w1']"), "p.w1");
  EXPECT_EQ(nameOfPath("p[0]['w'].scale"), "p.0.w.scale");
  EXPECT_EQ(nameOfPath("[1]['b-1']"), "1.b_1");
  EXPECT_EQ(nameOfPath(""), "");
}

//===- Groups of devices --------------------------------------------------===//

spmd::MeshShape mesh(std::vector<int64_t> sizes) {
  spmd::MeshShape result;
  for (int64_t size : sizes)
    result.axes.push_back({std::string(1, static_cast<char>('a' + result.axes.size())), size});
  return result;
}

TEST(DeviceGroups, AxesOfTheSpecificationsExamples) {
  spmd::MeshShape m = mesh({4, 2});
  EXPECT_EQ(findGroupAxes(m, {{0, 2, 4, 6}, {1, 3, 5, 7}}), (std::vector<std::string>{"a"}));
  EXPECT_EQ(findGroupAxes(m, {{0, 1}, {2, 3}, {4, 5}, {6, 7}}), (std::vector<std::string>{"b"}));
  EXPECT_EQ(findGroupAxes(m, {{0, 1, 2, 3, 4, 5, 6, 7}}), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(findGroupAxes(m, {{0, 2, 4, 6, 1, 3, 5, 7}}), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(findGroupAxes(m, {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}), (std::vector<std::string>{}));
}

TEST(DeviceGroups, OtherGroupsHaveNoAxes) {
  spmd::MeshShape m = mesh({4, 2});
  EXPECT_EQ(findGroupAxes(m, {{0, 2}, {4, 6}, {1, 3}, {5, 7}}), std::nullopt); // Half of an axis.
  EXPECT_EQ(findGroupAxes(m, {{0, 1}, {2, 3}}), std::nullopt);                 // Not all devices.
  EXPECT_EQ(findGroupAxes(m, {{0, 0, 1, 2}, {3, 4, 5, 6}}), std::nullopt);
  EXPECT_EQ(findGroupAxes(m, {{0, 8}, {1, 9}}), std::nullopt);
  EXPECT_EQ(findGroupAxes(m, {{-1, 1}}), std::nullopt);
  EXPECT_EQ(findGroupAxes(m, {}), std::nullopt);
  EXPECT_EQ(findGroupAxes(m, {{6, 4, 2, 0}, {7, 5, 3, 1}}), std::nullopt); // Backwards.
}

/// Groups that are made from axes in any order are found again, whatever the order of the groups.
TEST(DeviceGroups, RandomAxesAreFoundAgain) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<int64_t> sizes(1 + random() % 4);
    for (int64_t &size : sizes)
      size = 2 + static_cast<int64_t>(random() % 3);
    spmd::MeshShape m = mesh(sizes);
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    order.resize(random() % (sizes.size() + 1));
    std::vector<std::string> wanted;
    for (size_t axis : order)
      wanted.push_back(m.axes[axis].name);
    int64_t devices = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
    std::map<std::vector<int64_t>, std::map<int64_t, int64_t>> groups; // Device by position, by the other coordinates.
    for (int64_t device = 0; device < devices; ++device) {
      std::vector<int64_t> coordinates(sizes.size());
      for (size_t axis = sizes.size(), rest = static_cast<size_t>(device); axis-- > 0;
           rest /= static_cast<size_t>(sizes[axis]))
        coordinates[axis] = static_cast<int64_t>(rest % static_cast<size_t>(sizes[axis]));
      int64_t position = 0;
      for (size_t axis : order) {
        position = position * sizes[axis] + coordinates[axis];
        coordinates[axis] = -1;
      }
      groups[coordinates][position] = device;
    }
    std::vector<std::vector<int64_t>> lists;
    for (const auto &[others, members] : groups) {
      lists.emplace_back();
      for (auto [position, device] : members)
        lists.back().push_back(device);
    }
    std::shuffle(lists.begin(), lists.end(), random);
    EXPECT_EQ(findGroupAxes(m, lists), wanted);
  }
}

TEST(DeviceGroups, PairsAlongTheFewestAxes) {
  spmd::MeshShape m = mesh({4, 2});
  std::vector<std::pair<int64_t, int64_t>> ring;
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 2; ++j)
      ring.emplace_back(2 * i + j, 2 * ((i + 1) % 4) + j);
  auto found = findPairAxes(m, ring);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->axes, ElementsAre("a"));
  EXPECT_THAT(found->pairs, ElementsAre(0, 1, 1, 2, 2, 3, 3, 0));
  // Of one row alone: positions along both axes.
  auto one = findPairAxes(m, {{0, 2}});
  ASSERT_TRUE(one);
  EXPECT_THAT(one->axes, ElementsAre("a", "b"));
  EXPECT_THAT(one->pairs, ElementsAre(0, 2));
  EXPECT_FALSE(findPairAxes(m, {{0, 8}}));
}

//===- ShardingTexts ------------------------------------------------------===//

TEST(ShardingTexts, ArgumentsResultsAndConstraints) {
  Source source("f.mlir", R"(module {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func private @g(%arg0: tensor<8xf32>) -> tensor<8xf32>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}p1, {}]>} loc("x")) -> (tensor<8xf32>, tensor<f32> {jax.result_info = "result[1]"}, tensor<8xf32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}], replicated={}>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"b"}]> : tensor<8x4xf32>
    %1 = sdy.sharding_constraint %arg0 <@mesh, [{"a":(1)2}, {}]> : tensor<8x4xf32>
  }
})");
  ShardingTexts texts = findShardings(source, "main");
  ASSERT_EQ(texts.arguments.size(), 1u);
  ASSERT_TRUE(texts.arguments[0]);
  EXPECT_EQ(texts.arguments[0]->range.text(), "<@mesh, [{\"a\", ?}p1, {}]");
  EXPECT_EQ(texts.arguments[0]->label, "in_shardings of x");
  EXPECT_EQ(texts.arguments[0]->dims[0].whole.text(), "{\"a\", ?}p1");
  EXPECT_EQ(texts.arguments[0]->dims[0].priority, 1);
  EXPECT_TRUE(texts.arguments[0]->dims[0].isOpen);
  EXPECT_FALSE(texts.arguments[0]->dims[1].isOpen);
  ASSERT_EQ(texts.results.size(), 3u);
  EXPECT_FALSE(texts.results[0]);
  EXPECT_FALSE(texts.results[1]);
  ASSERT_TRUE(texts.results[2]);
  EXPECT_EQ(texts.results[2]->label, "out_shardings of result[2]");
  EXPECT_THAT(texts.results[2]->dims[0].axes, ElementsAre("a", "b"));
  ASSERT_EQ(texts.constraints.size(), 2u);
  EXPECT_EQ(writePartitionSpec(texts.constraints[0]->dims), "P(None, 'b')");
  EXPECT_FALSE(texts.constraints[1]); // A part of an axis.
  EXPECT_EQ(writeShardyDim({"a", "b"}, /*isOpen=*/true, 2), "{\"a\", \"b\", ?}p2");
  EXPECT_EQ(writeShardyDim({}, /*isOpen=*/false, -1), "{}");
}

// A part of an axis is a sharding, a scalar has none, and a mesh without axes is no mesh.
TEST(ShardingTexts, OpenOnesForArgumentsWithout) {
  auto open = [](std::string signature, const std::vector<spmd::MeshAxis> &axes) {
    Source source("f.mlir", "module @f {\n" + signature + "\n");
    return withOpenShardings(source, "main", axes);
  };
  std::string mesh = "  sdy.mesh @empty = <[]>\n  sdy.mesh @m = <[\"a\"=4]>\n";
  EXPECT_EQ(
      open(mesh + "func.func @main(%arg0: tensor<8x4xf32> loc(\"p['->{']\"), %arg1: tensor<f32>, %arg2: "
                  "tensor<?xcomplex<f32>> {jax.buffer_donor = true}, %arg3: tensor<8xf32> {sdy.sharding = "
                  "#sdy.sharding<@m, [{\"a\":(1)2}]>}) -> tensor<8xf32>",
           {{"a", 2}}),
      "module @f {\n" + mesh +
          "func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {?}]>} loc(\"p['->{']\"), "
          "%arg1: tensor<f32>, %arg2: tensor<?xcomplex<f32>> {jax.buffer_donor = true}, %arg3: tensor<8xf32> "
          "{sdy.sharding = #sdy.sharding<@m, [{\"a\":(1)2}]>}) -> tensor<8xf32>\n");
  EXPECT_EQ(open("func.func @main(%arg0: tensor<8xf32> {tf.aliasing_output = 0 : i32}) -> tensor<8xf32>",
                 {{"a", 2}, {"b", 3}}),
            "module @f {\n  sdy.mesh @spmdc_mesh = <[\"a\"=2, \"b\"=3]>\nfunc.func @main(%arg0: tensor<8xf32> "
            "{sdy.sharding = #sdy.sharding<@spmdc_mesh, [{?}]>, tf.aliasing_output = 0 : i32}) -> tensor<8xf32>\n");
  std::string alone = "func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32>";
  EXPECT_EQ(open(alone, {}), "module @f {\n" + alone + "\n");
}

TEST(ShardingTexts, AnyTextIsRead) {
  for (const char *text :
       {"", "func.func @main(", "func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{",
        "= sdy.sharding_constraint ", "= sdy.sharding_constraint %0 <@m, [{\"a", "func.func @main() -> (",
        "func.func @main(\"", "func.func @main(->", "module {\nfunc.func @main(%a: tensor<8x",
        "module {\nfunc.func @main(%a: tensor<8xf32> {", "sdy.mesh @", "module {\nsdy.mesh @m = <[\"a"}) {
    Source source("f.mlir", text);
    findShardings(source, "main");
    withOpenShardings(source, "main", {{"a", 2}});
  }
}

} // namespace
