#loc1 = loc("x")
#loc4 = loc("shard_map")
#loc7 = loc("psum")
#loc10 = loc("shard_map:"(#loc4))
#loc13 = loc("psum:"(#loc7))
module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["n"=8]> {stablehlo.mesh = {axes = [{name = "n", size = 8 : i64}]}} loc(#loc)
  func.func public @main(%arg0: tensor<8x16xf32> loc("x")) -> (tensor<8x16xf32> {jax.result_info = "result[0]"}, tensor<8x16xf32> {jax.result_info = "result[1]"}, tensor<8x16xf32> {jax.result_info = "result[2]"}, tensor<8x16xf32> {jax.result_info = "result[3]"}) {
    %0:4 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"n"}, {}]>] out_shardings=[<@mesh, [{"n"}, {}]>, <@mesh, [{"n"}, {}]>, <@mesh, [{"n"}, {}]>, <@mesh, [{"n"}, {}]>] manual_axes={"n"} (%arg1: tensor<1x16xf32> loc("shard_map:"(#loc4))) {
      %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32> loc("psum:"(#loc7)), %arg3: tensor<f32> loc("psum:"(#loc7))):
        %5 = stablehlo.add %arg2, %arg3 : tensor<f32> loc(#loc20)
        stablehlo.return %5 : tensor<f32> loc(#loc17)
      }) : (tensor<1x16xf32>) -> tensor<1x16xf32> loc(#loc17)
      %2 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32> loc("psum:"(#loc7)), %arg3: tensor<f32> loc("psum:"(#loc7))):
        %5 = stablehlo.add %arg2, %arg3 : tensor<f32> loc(#loc20)
        stablehlo.return %5 : tensor<f32> loc(#loc17)
      }) : (tensor<1x16xf32>) -> tensor<1x16xf32> loc(#loc17)
      %3 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 3, 5, 6], [7, 4, 1, 2]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32> loc("psum:"(#loc7)), %arg3: tensor<f32> loc("psum:"(#loc7))):
        %5 = stablehlo.add %arg2, %arg3 : tensor<f32> loc(#loc20)
        stablehlo.return %5 : tensor<f32> loc(#loc17)
      }) : (tensor<1x16xf32>) -> tensor<1x16xf32> loc(#loc17)
      %4 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, -1, -1], [3, 4, 5, 6, 7]]> : tensor<2x5xi64>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32> loc("psum:"(#loc7)), %arg3: tensor<f32> loc("psum:"(#loc7))):
        %5 = stablehlo.add %arg2, %arg3 : tensor<f32> loc(#loc20)
        stablehlo.return %5 : tensor<f32> loc(#loc17)
      }) : (tensor<1x16xf32>) -> tensor<1x16xf32> loc(#loc17)
      sdy.return %1, %2, %3, %4 : tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32> loc(#loc10)
    } : (tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) loc(#loc16)
    return %0#0, %0#1, %0#2, %0#3 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32> loc(#loc19)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("make_exported.py":106:22 to :94)
#loc3 = loc("make_exported.py":118:4 to :10)
#loc5 = loc("devices.py":40:36 to :79)
#loc6 = loc("devices.py":40:35 to :99)
#loc8 = loc("main"(#loc2))
#loc9 = loc("<module>"(#loc3))
#loc11 = loc("grouped.<locals>.<lambda>.<locals>.<listcomp>"(#loc5))
#loc12 = loc("grouped.<locals>.<lambda>"(#loc6))
#loc14 = loc(callsite(#loc8 at #loc9))
#loc15 = loc(callsite(#loc11 at #loc12))
#loc16 = loc("jit(<lambda>)/shard_map"(#loc14))
#loc17 = loc("psum"(#loc15))
#loc18 = loc(callsite(#loc15 at #loc15))
#loc19 = loc("jit(<lambda>)"(#loc14))
#loc20 = loc("add"(#loc18))
