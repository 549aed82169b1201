#loc1 = loc("x")
#loc4 = loc("shard_map")
#loc8 = loc("reduce_scatter")
#loc11 = loc("shard_map:"(#loc4))
#loc15 = loc("reduce_scatter:"(#loc8))
module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["n"=8]> {stablehlo.mesh = {axes = [{name = "n", size = 8 : i64}]}} loc(#loc)
  func.func public @main(%arg0: tensor<8x16xf32> loc("x")) -> (tensor<8x4xf32> {jax.result_info = "result[0]"}, tensor<8x8xf32> {jax.result_info = "result[1]"}, tensor<8x4xf32> {jax.result_info = "result[2]"}) {
    %0:3 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"n"}, {}]>] out_shardings=[<@mesh, [{"n"}, {}]>, <@mesh, [{"n"}, {}]>, <@mesh, [{"n"}, {}]>] manual_axes={"n"} (%arg1: tensor<1x16xf32> loc("shard_map:"(#loc4))) {
      %1 = "stablehlo.reduce_scatter"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, scatter_dimension = 1 : i64, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32> loc("reduce_scatter:"(#loc8)), %arg3: tensor<f32> loc("reduce_scatter:"(#loc8))):
        %4 = stablehlo.add %arg2, %arg3 : tensor<f32> loc(#loc23)
        stablehlo.return %4 : tensor<f32> loc(#loc21)
      }) : (tensor<1x16xf32>) -> tensor<1x4xf32> loc(#loc21)
      %2 = "stablehlo.reduce_scatter"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>, scatter_dimension = 1 : i64, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32> loc("reduce_scatter:"(#loc8)), %arg3: tensor<f32> loc("reduce_scatter:"(#loc8))):
        %4 = stablehlo.add %arg2, %arg3 : tensor<f32> loc(#loc23)
        stablehlo.return %4 : tensor<f32> loc(#loc21)
      }) : (tensor<1x16xf32>) -> tensor<1x8xf32> loc(#loc21)
      %3 = "stablehlo.reduce_scatter"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 3, 5, 6], [7, 4, 1, 2]]> : tensor<2x4xi64>, scatter_dimension = 1 : i64, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32> loc("reduce_scatter:"(#loc8)), %arg3: tensor<f32> loc("reduce_scatter:"(#loc8))):
        %4 = stablehlo.add %arg2, %arg3 : tensor<f32> loc(#loc23)
        stablehlo.return %4 : tensor<f32> loc(#loc21)
      }) : (tensor<1x16xf32>) -> tensor<1x4xf32> loc(#loc21)
      sdy.return %1, %2, %3 : tensor<1x4xf32>, tensor<1x8xf32>, tensor<1x4xf32> loc(#loc11)
    } : (tensor<8x16xf32>) -> (tensor<8x4xf32>, tensor<8x8xf32>, tensor<8x4xf32>) loc(#loc18)
    return %0#0, %0#1, %0#2 : tensor<8x4xf32>, tensor<8x8xf32>, tensor<8x4xf32> loc(#loc20)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("make_exported.py":106:22 to :94)
#loc3 = loc("make_exported.py":118:4 to :10)
#loc5 = loc("devices.py":49:51 to :108)
#loc6 = loc("devices.py":40:36 to :79)
#loc7 = loc("devices.py":40:35 to :99)
#loc9 = loc("main"(#loc2))
#loc10 = loc("<module>"(#loc3))
#loc12 = loc("<lambda>"(#loc5))
#loc13 = loc("grouped.<locals>.<lambda>.<locals>.<listcomp>"(#loc6))
#loc14 = loc("grouped.<locals>.<lambda>"(#loc7))
#loc16 = loc(callsite(#loc9 at #loc10))
#loc17 = loc(callsite(#loc13 at #loc14))
#loc18 = loc("jit(<lambda>)/shard_map"(#loc16))
#loc19 = loc(callsite(#loc12 at #loc17))
#loc20 = loc("jit(<lambda>)"(#loc16))
#loc21 = loc("reduce_scatter"(#loc19))
#loc22 = loc(callsite(#loc19 at #loc19))
#loc23 = loc("add"(#loc22))
