//===- DeviceRefusalsTest.cpp - meshes and regions that do not fit --------===//

#include "tests/frontend/stablehlo/RefusalsHelper.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace spmdc;
using ::testing::HasSubstr;

namespace {

TEST(DeviceRefusals, CollectivesOfSomeDevices) {
  // The devices of a group are in different branches.
  std::string region = "({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.add %a, %b : "
                       "tensor<f32>\nstablehlo.return %c : tensor<f32>\n}) ";
  EXPECT_THAT(
      importErrors(program(
          "%0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{\"a\"}]>] out_shardings=[<@mesh, [{\"a\"}]>] "
          "manual_axes={\"a\"} (%s: tensor<2xf32>) {\n"
          "%d = stablehlo.partition_id : tensor<ui32>\n%n0 = stablehlo.convert %d : (tensor<ui32>) -> tensor<i32>\n"
          "%r = \"stablehlo.case\"(%n0) ({\n%t = \"stablehlo.all_reduce\"(%s) <{replica_groups = dense<[[0, 1, 2, 3]]> "
          ": "
          "tensor<1x4xi64>}> " +
              region +
              ": (tensor<2xf32>) -> tensor<2xf32>\nstablehlo.return %t : tensor<2xf32>\n}, {\n"
              "stablehlo.return %s : tensor<2xf32>\n}) : (tensor<i32>) -> tensor<2xf32>\n"
              "sdy.return %r : tensor<2xf32>\n} : (tensor<8xf32>) -> tensor<8xf32>",
          "sdy.mesh @mesh = <[\"a\"=4]>\n")),
      HasSubstr("reaches a collective only where a condition holds that differs between the devices of its group: some "
                "would wait for "
                "others forever; move the collective out of the branch or loop, or make the condition the same for "
                "all, with pmax or "
                "pmin of it as an integer"));
}

TEST(DeviceRefusals, Meshes) {
  const std::string mesh = "sdy.mesh @mesh = <[\"a\"=4, \"b\"=2]>\n";
  auto constraint = [&](const std::string &sharding) {
    return importErrors(program("%0 = sdy.sharding_constraint %x " + sharding + " : tensor<8xf32>", mesh));
  };
  EXPECT_EQ(constraint("<@mesh, [{\"a\"}]>"), "");
  EXPECT_EQ(constraint("<@mesh, [{\"a\":(2)2, ?}]>"), "");
  EXPECT_THAT(constraint("<@mesh, [{\"z\"}]>"), HasSubstr("names the axis 'z', which the mesh does not have"));
  EXPECT_THAT(constraint("<@mesh, [{\"a\"}, {}]>"), HasSubstr("has a sharding of 2 dimensions for an array of 1"));
  EXPECT_THAT(constraint("<@mesh, [{\"a\":(1)3}]>"), HasSubstr("names the part a:(1)3 of an axis of size 4"));
  EXPECT_EQ(constraint("<@mesh, [{?}], replicated={\"a\"}>"), "");
  EXPECT_EQ(constraint("<@mesh, [{}], unreduced={\"a\"}>"), "");
  EXPECT_THAT(constraint("<@mesh, [{?}], replicated={\"z\"}>"),
              HasSubstr("names the axis 'z', which the mesh does not have"));
  EXPECT_THAT(constraint("<@mesh, [{}], unreduced={\"z\"}>"),
              HasSubstr("names the axis 'z', which the mesh does not have"));
  std::string argument = program("", mesh);
  argument.replace(argument.find("%x: tensor<8xf32>"), 17,
                   "%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={\"a\"}>}");
  EXPECT_THAT(importErrors(argument),
              HasSubstr("has an argument or result that keeps an axis from its open dimensions ('replicated'), which "
                        "is not supported; close the dimensions"));
  auto region = [&](const std::string &element) {
    std::string type = "tensor<8x" + element + ">";
    return importErrors(mesh + "func.func public @main(%x: " + type + ") -> " + type +
                        " {\n  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}]>] "
                        "out_shardings=[<@mesh, [{}], unreduced={\"a\"}>] manual_axes={\"a\", \"b\"} (%y: " +
                        type + ") {\n    sdy.return %y : " + type + "\n  } : (" + type + ") -> " + type +
                        "\n  return %0 : " + type + "\n}\n");
  };
  EXPECT_EQ(region("f32"), "");
  for (const char *element : {"i1", "f8E5M2", "i4"})
    EXPECT_THAT(region(element), HasSubstr("takes or returns partial sums ('unreduced') of bools, of floats of 8 bits "
                                           "or fewer, or of integers of 4 bits or fewer, which is not supported; "
                                           "convert them to f32 or i32"))
        << element;
  EXPECT_NE(constraint("<@mesh, [{\"a\", \"a\"}]>"), "");
  EXPECT_THAT(importErrors(program("", "sdy.mesh @mesh = <[\"a\"=2], device_ids=[1, 0]>\n")),
              HasSubstr("orders its devices by 'device_ids', which is not supported; use a mesh of devices in order"));
  EXPECT_THAT(importErrors(program("", "sdy.mesh @mesh = <[\"a\"=1000000, \"b\"=1000000]>\n")),
              HasSubstr("the mesh has more than 1048576 devices"));
  EXPECT_THAT(importErrors(program("", "sdy.mesh @mesh = <[\"a\"=2, \"a\"=2]>\n")),
              HasSubstr("has two axes of one name, or one without a name"));
  EXPECT_THAT(importErrors("func.func private @main(tensor<8xf32>) -> tensor<8xf32> // stablehlo."),
              HasSubstr("has no body of one block"));
  EXPECT_THAT(importErrors(program(
                  "%0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding<@mesh, [{}]>} : tensor<8xf32>", mesh)),
              HasSubstr("has no sharding for each of its results"));
  EXPECT_NE(importErrors(program("", "sdy.mesh @mesh = <[\"a\"=0]>\n")), "");
  EXPECT_EQ(importErrors(program("", "sdy.mesh @empty_mesh = <[]>\n" + mesh)), "");
}

TEST(DeviceRefusals, SeveralMeshes) {
  auto constraint = [](const std::string &other, const std::string &axis, const FrontendOptions &options = {}) {
    return importErrors(program("%0 = sdy.sharding_constraint %x <@other, [{" + axis + "}]> : tensor<8xf32>",
                                "sdy.mesh @mesh = <[\"a\"=4, \"b\"=2]>\nsdy.mesh @other = <[" + other + "]>\n"),
                        options);
  };
  EXPECT_EQ(constraint("\"c\"=8", "\"c\""), "");
  EXPECT_EQ(constraint("\"c\"=2, \"d\"=4", "\"d\""), "");
  EXPECT_EQ(constraint("\"c\"=1, \"d\"=8", "\"c\", \"d\""), "");
  std::string second =
      "is a second mesh whose axes are not made of those of the first one, or that has other devices; a "
      "program has one mesh";
  EXPECT_THAT(constraint("\"c\"=4", "\"c\""), HasSubstr(second));
  EXPECT_THAT(constraint("\"c\"=16", "\"c\""), HasSubstr(second));
  EXPECT_THAT(constraint("\"c\"=3, \"d\"=4", "\"c\""), HasSubstr(second));
  EXPECT_THAT(
      constraint("\"c\"=8", "\"z\""),
      HasSubstr("names z of 'other', a second mesh, which lacks it or divides it otherwise than the first one"));
  EXPECT_THAT(constraint("\"c\"=8", "\"c\":(1)2"), HasSubstr("names c:(1)2 of 'other'"));
  FrontendOptions options;
  options.meshOverride = "a=2";
  EXPECT_THAT(constraint("\"c\"=8", "\"c\"", options),
              HasSubstr("has several meshes, so that --mesh has no axes to resize; export it with one mesh"));
  EXPECT_THAT(
      importErrors(program(
          "%0 = sdy.manual_computation(%x) in_shardings=[<@other, [{\"c\"}]>] out_shardings=[<@other, [{\"c\"}]>] "
          "manual_axes={\"c\"} (%s: tensor<4xf32>) {\nsdy.return %s : tensor<4xf32>\n} : (tensor<8xf32>) -> "
          "tensor<8xf32>",
          "sdy.mesh @mesh = <[\"a\"=4, \"b\"=2]>\nsdy.mesh @other = <[\"c\"=2, \"d\"=4]>\n")),
      HasSubstr("is over the axis 'c' of 'other', a second mesh, which is not made of axes of the first one"));
}

TEST(DeviceRefusals, ShardingsOfGspmd) {
  auto argument = [](const std::string &sharding, const std::string &other = "{replicated}") {
    return importErrors("func.func @main(%x: tensor<8xf32> {mhlo.sharding = \"" + sharding +
                        "\"}, %y: tensor<8x4xf32> {mhlo.sharding = \"" + other +
                        "\"}) -> tensor<8xf32> {\nreturn %x : tensor<8xf32>\n}");
  };
  for (const char *good : {"{replicated}", "{devices=[8]<=[8]}", "{devices=[4,2]<=[8] last_tile_dim_replicate}",
                           "{devices=[2,4]<=[4,2]T(1,0) last_tile_dims={replicated}}", "{devices=[4]0,1,2,3}",
                           "{devices=[2,2]0,2,1,3 last_tile_dim_replicate}", "{devices=[1]0}"})
    EXPECT_EQ(argument(good), "") << good;
  EXPECT_THAT(argument("{maximal device=0}"),
              HasSubstr("has the sharding '{maximal device=0}', which is not supported; use {replicated} or "
                        "{devices=[...]}, or export with Shardy: "
                        "jax.config.update('jax_use_shardy_partitioner', True)"));
  EXPECT_THAT(argument("{{replicated}, {replicated}}"), HasSubstr("which is not one of GSPMD for one array"));
  EXPECT_THAT(argument("replicated"), HasSubstr("which is not one of GSPMD for one array"));
  EXPECT_THAT(argument("{devices=[0]<=[8]}"), HasSubstr("whose tiles are not a list of sizes"));
  for (const char *wrong : {"{devices=[8]<=[4]}", "{devices=[8]<=[4,2]T(1,1)}", "{devices=[4]0,2,1,3}",
                            "{devices=[4]0,1}", "{devices=[2,3]<=[3,2]}"})
    EXPECT_THAT(argument(wrong), HasSubstr("whose devices are no axes of a mesh in order")) << wrong;
  EXPECT_THAT(argument("{devices=[4,2]<=[8] last_tile_dims={manual}}"),
              HasSubstr("of which 'last_tile_dims={manual}' is not supported; export with Shardy: "
                        "jax.config.update('jax_use_shardy_partitioner', True)"));
  EXPECT_THAT(argument("{devices=[4,2]<=[8]}"), HasSubstr("has a sharding of 2 dimensions for an array of 1"));
  EXPECT_THAT(argument("{devices=[8]<=[8]}", "{devices=[4,1]<=[4]}"),
              HasSubstr("has a sharding over 4 devices, and another one is over 8"));
  EXPECT_THAT(
      argument("{devices=[2,3]<=[6] last_tile_dim_replicate}", "{devices=[3,1,2]<=[6] last_tile_dim_replicate}"),
      HasSubstr("has a sharding that divides the devices into groups of 3, and another one into groups of 2: no "
                "mesh has axes for both"));
  auto call = [](const std::string &target, const std::string &attributes) {
    return importErrors(program("%0 = stablehlo.custom_call @" + target + "(%x) {" + attributes +
                                "} : (tensor<8xf32>) -> tensor<8xf32>"));
  };
  const std::string sharding = "mhlo.sharding = \"{devices=[8]<=[8]}\"";
  EXPECT_EQ(call("Sharding", sharding + ", backend_config = \"unspecified_dims=[0]\""), "");
  EXPECT_THAT(call("Sharding", sharding + ", backend_config = \"unspecified_dims=[a]\""),
              HasSubstr("lists the open dimensions 'unspecified_dims=[a]', which are no numbers"));
  EXPECT_THAT(call("SPMDFullToShardShape", "mhlo.sharding = \"{manual}\""),
              HasSubstr("'SPMDFullToShardShape' is shard_map in the form of GSPMD; export with Shardy: "
                        "jax.config.update('jax_use_shardy_partitioner', True)"));
}

TEST(DeviceRefusals, Regions) {
  const std::string mesh = "sdy.mesh @mesh = <[\"a\"=4, \"b\"=2]>\n";
  auto manual = [&](const std::string &in, const std::string &out, const std::string &axes, const std::string &local,
                    const std::string &body, const std::string &yielded) {
    std::string size = body.find("concatenate") != std::string::npos ? "8" : "2";
    return importErrors(program("%0 = sdy.manual_computation(%x) in_shardings=[" + in + "] out_shardings=[" + out +
                                    "] manual_axes={" + axes + "} (%s: tensor<" + local + "xf32>) {\n" + body +
                                    "\nsdy.return " + yielded + " : tensor<" + size +
                                    "xf32>\n} : (tensor<8xf32>) -> tensor<8xf32>",
                                mesh));
  };
  std::string onA = "<@mesh, [{\"a\"}]>", both = "\"a\", \"b\"";
  EXPECT_EQ(manual(onA, onA, both, "2", "", "%s"), "");
  EXPECT_THAT(manual(onA, onA, both, "3", "%t = stablehlo.slice %s [0:2] : (tensor<3xf32>) -> tensor<2xf32>", "%t"),
              HasSubstr("divides a dimension of 8 elements over 4 devices, but its region has 3"));
  EXPECT_THAT(importErrors(program("%0 = sdy.manual_computation(%x) in_shardings=[" + onA + "] out_shardings=[" + onA +
                                       "] manual_axes={\"a\", \"b\"} (%s: tensor<2xf32>) {\n"
                                       "%t = stablehlo.reshape %s : (tensor<2xf32>) -> tensor<2x1xf32>\n"
                                       "sdy.return %t : tensor<2x1xf32>\n} : (tensor<8xf32>) -> tensor<8xf32>",
                                   mesh)),
              HasSubstr("has a result of another rank than its region"));
  EXPECT_THAT(manual("<@mesh, [{\"z\"}]>", onA, both, "2", "", "%s"), HasSubstr("names the axis 'z'"));
  EXPECT_THAT(manual(onA, onA, "\"z\"", "2", "", "%s"),
              HasSubstr("names the axis 'z', which the mesh does not have or a region around has"));
  EXPECT_THAT(manual("<@mesh, [{\"b\", \"a\"}]>", onA, "\"a\"", "2", "", "%s"),
              HasSubstr("shards a dimension over an axis of its own behind one that is not"));
  EXPECT_THAT(manual(onA, onA, both, "2x1", "%t = stablehlo.reshape %s : (tensor<2x1xf32>) -> tensor<2xf32>", "%t"),
              HasSubstr("has an operand of another rank than its region"));
  EXPECT_THAT(manual(onA, "<@mesh, [{}]>", both, "2",
                     "%t = stablehlo.concatenate %s, %s, %s, %s, dim = 0 : (tensor<2xf32>, tensor<2xf32>, "
                     "tensor<2xf32>, tensor<2xf32>) -> tensor<8xf32>",
                     "%t"),
              HasSubstr("has a result that differs along the axis 'a', which its out_specs leave out; reduce it with "
                        "psum or pmean, or name the axis in out_specs"));
  EXPECT_THAT(manual(onA + ", " + onA, onA, both, "2", "", "%s"),
              HasSubstr("has another number of shardings than operands and results"));
  EXPECT_THAT(manual(onA, "<@mesh, [{\"b\"}]>", both, "2", "", "%s"), HasSubstr("'sdy.manual_computation'"));
  auto collective = [&](const std::string &operation) { return manual(onA, onA, both, "2", operation, "%s"); };
  std::string region = "({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.subtract %a, %b : "
                       "tensor<f32>\nstablehlo.return %c : tensor<f32>\n}) ";
  std::string all = "replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>",
              types = ": (tensor<2xf32>) -> tensor<2xf32>";
  EXPECT_THAT(collective("%r = \"stablehlo.all_gather\"(%s) <{all_gather_dim = 1 : i64, " + all + "}> " + types),
              HasSubstr("gathers along a dimension that its operand does not have"));
  EXPECT_THAT(
      collective(
          "%r = \"stablehlo.all_gather\"(%s) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1xi64>}> " +
          types),
      HasSubstr("has no groups of devices"));
  EXPECT_THAT(collective("%r = \"stablehlo.all_to_all\"(%s) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, "
                         "split_count = 2 : i64, " +
                         all + "}> " + types),
              HasSubstr("exchanges along dimensions that its operand does not have"));
  EXPECT_THAT(
      collective(
          "%r = \"stablehlo.collective_permute\"(%s) <{source_target_pairs = dense<[[0, 8]]> : tensor<1x2xi64>}> " +
          types),
      HasSubstr("names a device that the mesh does not have"));
  std::string sum = region;
  sum.replace(sum.find("subtract"), 8, "add");
  EXPECT_THAT(
      collective("%r = \"stablehlo.reduce_scatter\"(%s) <{scatter_dimension = 1 : i64, " + all + "}> " + sum + types),
      HasSubstr("scatters along a dimension that its operand does not have"));
  EXPECT_THAT(importErrors(program("%r = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = "
                                   "dense<0> : tensor<1x1xi64>}> : "
                                   "(tensor<8xf32>) -> tensor<8xf32>")),
              HasSubstr("is not in a shard_map; name the devices by the axes of a mesh"));
}

TEST(DeviceRefusals, GroupsOfCollectives) {
  std::string mesh = "sdy.mesh @mesh = <[\"a\"=4, \"b\"=2]>";
  // Over `axes` of the mesh, on shards of two elements of each device along a.
  auto collective = [&](const std::string &operation, const std::string &axes = "\"a\", \"b\"") {
    return importErrors(program("%0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{\"a\"}]>] "
                                "out_shardings=[<@mesh, [{\"a\"}]>] manual_axes={" +
                                    axes + "} (%s: tensor<2xf32>) {\n" + operation +
                                    "\nsdy.return %s : tensor<2xf32>\n} : (tensor<8xf32>) -> tensor<8xf32>",
                                mesh));
  };
  std::string types = " : (tensor<2xf32>) -> tensor<2xf32>";
  std::string add = " ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.add %a, %b : tensor<f32>\n"
                    "stablehlo.return %c : tensor<f32>\n})";
  auto groups = [](const std::string &lists, const std::string &shape) {
    return "replica_groups = dense<[" + lists + "]> : tensor<" + shape + "xi64>";
  };
  std::string pairs = groups("[0, 1], [2, 3], [4, 5], [6, 7]", "4x2"), uneven = groups("[0, 1, 2], [3, 4, -1]", "2x3");
  auto reduce = [&](const std::string &of) { return "%r = \"stablehlo.all_reduce\"(%s) <{" + of + "}>"; };
  EXPECT_EQ(collective(reduce(uneven) + add + types), "");
  EXPECT_THAT(collective(reduce(groups("[0, 1], [1, 2]", "2x2")) + add + types),
              HasSubstr("has groups with a device that the mesh does not have, or with one twice"));
  EXPECT_THAT(collective(reduce(groups("[-1, -1]", "1x2")) + add + types), HasSubstr("has no groups of devices"));
  EXPECT_THAT(
      collective(reduce(pairs) + add + types, "\"a\""),
      HasSubstr("has groups along the axis 'b', over which its shard_map is not manual; name it in axis_names"));
  EXPECT_THAT(collective(reduce(pairs) +
                         " ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):\n"
                         "stablehlo.return %a, %b : tensor<f32>, tensor<f32>\n})" +
                         types),
              HasSubstr("has a region that does not fit its operands"));
  EXPECT_THAT(collective("%r = \"stablehlo.all_gather\"(%s) <{all_gather_dim = 0 : i64, " + uneven +
                         "}> : (tensor<2xf32>) -> tensor<6xf32>"),
              HasSubstr("has groups of different sizes, or leaves out devices, for which its result has no one shape"));
  EXPECT_THAT(collective("%r:2 = \"stablehlo.all_gather\"(%s) <{all_gather_dim = 0 : i64, " + pairs +
                         "}> : (tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>)"),
              HasSubstr("has another number of results than of operands"));
  std::string quads = groups("[0, 1, 2, 3], [4, 5, 6, 7]", "2x4");
  EXPECT_THAT(
      collective("%r = \"stablehlo.reduce_scatter\"(%s) <{scatter_dimension = 0 : i64, " + quads + "}>" + add + types),
      HasSubstr("scatters a dimension that its groups do not divide"));
  EXPECT_THAT(collective("%r = \"stablehlo.all_to_all\"(%s) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, "
                         "split_count = 4 : i64, " +
                         quads + "}>" + types),
              HasSubstr("splits a dimension that its groups do not divide"));
  EXPECT_THAT(collective("%r = \"stablehlo.collective_broadcast\"(%s) <{has_dynamic_root, " + pairs + "}>" + types),
              HasSubstr("has other operands than an array for each result, and roots for each with has_dynamic_root"));
  std::string replica = "func.func @main() -> tensor<ui32> {\n%r = stablehlo.replica_id : tensor<ui32>\n"
                        "return %r : tensor<ui32>\n}\n}";
  EXPECT_EQ(importErrors("module attributes {mhlo.num_replicas = 1 : i32} {\n" + replica), "");
  EXPECT_THAT(importErrors("module attributes {mhlo.num_replicas = 2 : i32} {\n" + replica),
              HasSubstr("is of a program of 2 replicas; name the devices by the axes of a mesh in a shard_map"));
}

} // namespace
