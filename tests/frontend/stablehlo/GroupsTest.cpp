//===- GroupsTest.cpp - collectives over any groups of devices ------------===//
//
// Collectives of a manual region over random groups: axes, parts of axes, permuted ones, of different sizes. The
// expected values are computed here by the definition of each collective.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/JaxValues.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <complex>
#include <numeric>
#include <random>

using namespace spmdc;

namespace {

using Numbers = std::vector<int64_t>;

/// A mesh of two axes, and groups of its devices.
struct Case {
  int64_t rows, columns;
  std::vector<Numbers> groups;

  int64_t devices() const { return rows * columns; }
  size_t largest() const {
    return std::ranges::max(groups, {}, [](const Numbers &group) { return group.size(); }).size();
  }
  const Numbers &groupOf(int64_t device) const {
    return *std::ranges::find_if(groups, [&](const Numbers &group) { return std::ranges::count(group, device) > 0; });
  }
};

/// Random groups: of one size or of any, in the order of the devices or in any.
Case makeCase(unsigned seed, bool mustBeEven) {
  std::mt19937 random(seed);
  Case test;
  const std::pair<int64_t, int64_t> meshes[] = {{4, 2}, {6, 1}, {3, 2}, {8, 1}, {2, 2}};
  std::tie(test.rows, test.columns) = meshes[random() % std::size(meshes)];
  Numbers devices(test.devices());
  std::iota(devices.begin(), devices.end(), 0);
  if (random() % 3)
    std::shuffle(devices.begin(), devices.end(), random);
  size_t size = 1 + random() % devices.size();
  while (mustBeEven && devices.size() % size)
    ++size;
  for (size_t begin = 0; begin < devices.size();) {
    size_t count = mustBeEven ? size : 1 + random() % (devices.size() - begin);
    test.groups.emplace_back(devices.begin() + begin, devices.begin() + begin + count);
    begin += count;
  }
  return test;
}

std::string groupsText(const Case &test) {
  std::string text;
  for (const Numbers &group : test.groups) {
    text += text.empty() ? "[" : ", [";
    for (size_t i = 0; i < test.largest(); ++i)
      text += (i ? ", " : "") + std::to_string(i < group.size() ? group[i] : -1);
    text += "]";
  }
  return "replica_groups = dense<[" + text + "]> : tensor<" + std::to_string(test.groups.size()) + "x" +
         std::to_string(test.largest()) + "xi64>";
}

std::string tensor(const Numbers &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "i32>";
}

nlohmann::json arrayOf(const Numbers &shape, const Numbers &values) {
  return {{"dtype", "i32"}, {"shape", shape}, {"values", values}};
}

/// The shards of all devices, one behind the other.
Numbers joined(const std::vector<Numbers> &shards) {
  Numbers all;
  for (const Numbers &shard : shards)
    all.insert(all.end(), shard.begin(), shard.end());
  return all;
}

/// Runs `operation` on %x, tensor<1xNxi32>, of each device, which gives %r, and compares the results of all devices.
std::string check(const Case &test, const std::string &operation, const std::vector<Numbers> &arguments,
                  const std::vector<Numbers> &results) {
  auto devices = test.devices();
  auto in = static_cast<int64_t>(arguments[0].size()), out = static_cast<int64_t>(results[0].size());
  std::string sharding = "[<@mesh, [{\"a\", \"b\"}, {}]>]";
  std::string text = "module {\n  sdy.mesh @mesh = <[\"a\"=" + std::to_string(test.rows) +
                     ", \"b\"=" + std::to_string(test.columns) +
                     "]>\n  func.func @main(%arg0: " + tensor({devices, in}) + ") -> " + tensor({devices, out}) +
                     " {\n    %0 = sdy.manual_computation(%arg0) in_shardings=" + sharding +
                     " out_shardings=" + sharding + " manual_axes={\"a\", \"b\"} (%x: " + tensor({1, in}) +
                     ") {\n      " + operation + " : (" + tensor({1, in}) + ") -> " + tensor({1, out}) +
                     "\n      sdy.return %r : " + tensor({1, out}) + "\n    } : (" + tensor({devices, in}) + ") -> " +
                     tensor({devices, out}) + "\n    func.return %0 : " + tensor({devices, out}) + "\n  }\n}\n";
  nlohmann::json json = {{"arguments", {arrayOf({devices, in}, joined(arguments))}},
                         {"results", {arrayOf({devices, out}, joined(results))}},
                         {"tolerance", 0}};
  std::string difference = runBesideJax("groups.mlir", text, json);
  return difference.empty() ? "" : difference + "\n" + text;
}

std::vector<Numbers> randomArguments(const Case &test, size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Numbers> arguments(test.devices(), Numbers(size));
  for (Numbers &argument : arguments)
    for (int64_t &value : argument)
      value = static_cast<int64_t>(random() % 200) - 100;
  return arguments;
}

/// x + y - x y is associative and commutative, and no kind of reduction.
int64_t combine(int64_t x, int64_t y) { return static_cast<int32_t>(x + y - x * y); }

std::string regionOf(bool isSum) {
  return " ({\n^bb0(%p: tensor<i32>, %q: tensor<i32>):\n%s = stablehlo.add %p, %q : tensor<i32>\n" +
         std::string(isSum ? ""
                           : "%t = stablehlo.multiply %p, %q : tensor<i32>\n%u = stablehlo.subtract %s, %t : "
                             "tensor<i32>\n") +
         "stablehlo.return " + (isSum ? "%s" : "%u") + " : tensor<i32>\n})";
}

class Groups : public ::testing::TestWithParam<unsigned> {};

TEST_P(Groups, AllReduce) {
  Case test = makeCase(GetParam(), /*mustBeEven=*/false);
  bool isSum = GetParam() % 2;
  std::vector<Numbers> arguments = randomArguments(test, 3, GetParam()), results;
  for (int64_t device = 0; device < test.devices(); ++device) {
    const Numbers &group = test.groupOf(device);
    Numbers sum = arguments[group[0]];
    for (size_t i = 1; i < group.size(); ++i)
      for (size_t k = 0; k < sum.size(); ++k)
        sum[k] = isSum ? sum[k] + arguments[group[i]][k] : combine(sum[k], arguments[group[i]][k]);
    results.push_back(sum);
  }
  EXPECT_EQ(check(test, "%r = \"stablehlo.all_reduce\"(%x) <{" + groupsText(test) + "}>" + regionOf(isSum), arguments,
                  results),
            "");
}

TEST_P(Groups, AllGather) {
  Case test = makeCase(GetParam(), /*mustBeEven=*/true);
  std::vector<Numbers> arguments = randomArguments(test, 2, GetParam()), results;
  for (int64_t device = 0; device < test.devices(); ++device) {
    results.emplace_back();
    for (int64_t member : test.groupOf(device))
      results.back().insert(results.back().end(), arguments[member].begin(), arguments[member].end());
  }
  EXPECT_EQ(check(test, "%r = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 1 : i64, " + groupsText(test) + "}>",
                  arguments, results),
            "");
}

TEST_P(Groups, ReduceScatter) {
  Case test = makeCase(GetParam(), /*mustBeEven=*/true);
  bool isSum = GetParam() % 2;
  size_t size = test.largest();
  std::vector<Numbers> arguments = randomArguments(test, 2 * size, GetParam()), results;
  for (int64_t device = 0; device < test.devices(); ++device) {
    const Numbers &group = test.groupOf(device);
    size_t position = std::ranges::find(group, device) - group.begin();
    Numbers shard(2);
    for (size_t k = 0; k < 2; ++k) {
      shard[k] = arguments[group[0]][2 * position + k];
      for (size_t i = 1; i < size; ++i) {
        int64_t other = arguments[group[i]][2 * position + k];
        shard[k] = isSum ? shard[k] + other : combine(shard[k], other);
      }
    }
    results.push_back(shard);
  }
  EXPECT_EQ(check(test,
                  "%r = \"stablehlo.reduce_scatter\"(%x) <{scatter_dimension = 1 : i64, " + groupsText(test) + "}>" +
                      regionOf(isSum),
                  arguments, results),
            "");
}

TEST_P(Groups, AllToAll) {
  Case test = makeCase(GetParam(), /*mustBeEven=*/true);
  size_t size = test.largest();
  std::vector<Numbers> arguments = randomArguments(test, 2 * size, GetParam()), results;
  for (int64_t device = 0; device < test.devices(); ++device) {
    const Numbers &group = test.groupOf(device);
    size_t position = std::ranges::find(group, device) - group.begin();
    results.emplace_back();
    for (int64_t member : group)
      for (size_t k = 0; k < 2; ++k)
        results.back().push_back(arguments[member][2 * position + k]);
  }
  EXPECT_EQ(check(test,
                  "%r = \"stablehlo.all_to_all\"(%x) <{split_dimension = 1 : i64, concat_dimension = 1 : i64, "
                  "split_count = " +
                      std::to_string(size) + " : i64, " + groupsText(test) + "}>",
                  arguments, results),
            "");
}

/// Devices of some groups, or of all; the first of each sends.
TEST_P(Groups, CollectiveBroadcast) {
  Case test = makeCase(GetParam(), /*mustBeEven=*/false);
  Case some = test;
  if (GetParam() % 3 == 0 && some.groups.size() > 1)
    some.groups.pop_back();
  std::vector<Numbers> arguments = randomArguments(test, 3, GetParam()), results;
  for (int64_t device = 0; device < test.devices(); ++device) {
    bool hasGroup =
        std::ranges::any_of(some.groups, [&](const Numbers &group) { return std::ranges::count(group, device) > 0; });
    results.push_back(hasGroup ? arguments[some.groupOf(device)[0]] : Numbers(3, 0));
  }
  EXPECT_EQ(check(some, "%r = \"stablehlo.collective_broadcast\"(%x) <{" + groupsText(some) + "}>", arguments, results),
            "");
}

/// In a region that is manual along one axis, shards along the other are sent as they are. JAX 0.10 exports no
/// broadcast.
TEST(GroupsOfPartlyManual, CollectiveBroadcast) {
  Numbers values(8 * 6), expected;
  std::iota(values.begin(), values.end(), 0);
  for (int64_t i = 0; i < 8 * 6; ++i)
    expected.push_back(4 * 6 + i % 12); // Rows 4 and 5: the shard of the device at position 2.
  std::string text = R"(module {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func @main(%arg0: tensor<8x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) -> tensor<8x6xi32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a"} (%x: tensor<2x6xi32>) {
      %root = stablehlo.constant dense<2> : tensor<1xi32>
      %r = "stablehlo.collective_broadcast"(%x, %root) <{has_dynamic_root, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>}> : (tensor<2x6xi32>, tensor<1xi32>) -> tensor<2x6xi32>
      sdy.return %r : tensor<2x6xi32>
    } : (tensor<8x6xi32>) -> tensor<8x6xi32>
    func.return %0 : tensor<8x6xi32>
  }
})";
  nlohmann::json json = {
      {"arguments", {arrayOf({8, 6}, values)}}, {"results", {arrayOf({8, 6}, expected)}}, {"tolerance", 0}};
  EXPECT_EQ(runBesideJax("broadcast.mlir", text, json), "");
}

/// A region of complex numbers is one of pairs; integers as floats have no rounding errors.
TEST(GroupsOfComplex, Product) {
  const std::complex<int64_t> values[] = {{1, 2}, {-3, 1}, {0, 2}, {2, -1}, {5, 0}, {1, 1}, {-1, 4}, {3, 3}};
  for (const char *groups : {"[[0, 1, 2, 3], [4, 5, 6, 7]]", "[[0, 5, 3, 6], [4, 7, 2, 1]]"}) {
    nlohmann::json lists = nlohmann::json::parse(groups);
    Numbers argument, result;
    for (int64_t device = 0; device < 8; ++device) {
      argument.insert(argument.end(), {values[device].real(), values[device].imag()});
      std::complex<int64_t> product = 1;
      for (const Numbers group : lists)
        if (std::ranges::count(group, device))
          for (int64_t member : group)
            product *= values[member];
      result.insert(result.end(), {product.real(), product.imag()});
    }
    std::string text = std::string(R"(module {
  sdy.mesh @mesh = <["a"=8]>
  func.func @main(%arg0: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a"} (%x: tensor<1xcomplex<f32>>) {
      %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<)") +
                       groups + R"(> : tensor<2x4xi64>}> ({
      ^bb0(%p: tensor<complex<f32>>, %q: tensor<complex<f32>>):
        %s = stablehlo.multiply %p, %q : tensor<complex<f32>>
        stablehlo.return %s : tensor<complex<f32>>
      }) : (tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>>
      sdy.return %r : tensor<1xcomplex<f32>>
    } : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
    func.return %0 : tensor<8xcomplex<f32>>
  }
})";
    nlohmann::json json = {
        {"arguments", {arrayOf({8, 2}, argument)}}, {"results", {arrayOf({8, 2}, result)}}, {"tolerance", 0}};
    json["arguments"][0]["dtype"] = json["results"][0]["dtype"] = "f32";
    EXPECT_EQ(runBesideJax("product.mlir", text, json), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Random, Groups, ::testing::Range(0u, 24u));

} // namespace
