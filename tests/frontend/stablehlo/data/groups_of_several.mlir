#loc1 = loc("x")
#loc2 = loc("y")
#loc5 = loc("shard_map")
#loc8 = loc("psum")
#loc11 = loc("shard_map:"(#loc5))
#loc14 = loc("psum:"(#loc8))
module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4, "b"=2]> {stablehlo.mesh = {axes = [{name = "a", size = 4 : i64}, {name = "b", size = 2 : i64}]}} loc(#loc)
  func.func public @main(%arg0: tensor<8x16xf32> loc("x"), %arg1: tensor<4x3xf32> loc("y")) -> (tensor<8x16xf32> {jax.result_info = "result[0]"}, tensor<16x3xf32> {jax.result_info = "result[1]"}, tensor<8x6xf32> {jax.result_info = "result[2]"}) {
    %0:3 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"a"}, {"b"}]>, <@mesh, [{"b"}, {}]>] out_shardings=[<@mesh, [{"a"}, {"b"}]>, <@mesh, [{"a", "b"}, {}]>, <@mesh, [{"a"}, {"b"}]>] manual_axes={"a", "b"} (%arg2: tensor<2x8xf32> loc("shard_map:"(#loc5)), %arg3: tensor<2x3xf32> loc("shard_map:"(#loc5))) {
      %1 = stablehlo.slice %arg2 [0:2, 0:3] : (tensor<2x8xf32>) -> tensor<2x3xf32> loc(#loc16)
      %2 = "stablehlo.all_reduce"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 6], [2, 4], [1, 7], [3, 5]]> : tensor<4x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32> loc("psum:"(#loc8)), %arg5: tensor<f32> loc("psum:"(#loc8))):
        %5 = stablehlo.add %arg4, %arg5 : tensor<f32> loc(#loc20)
        stablehlo.return %5 : tensor<f32> loc(#loc17)
      }) : (tensor<2x8xf32>) -> tensor<2x8xf32> loc(#loc17)
      %3 = "stablehlo.all_reduce"(%arg3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 6], [2, 4], [1, 7], [3, 5]]> : tensor<4x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32> loc("psum:"(#loc8)), %arg5: tensor<f32> loc("psum:"(#loc8))):
        %5 = stablehlo.add %arg4, %arg5 : tensor<f32> loc(#loc20)
        stablehlo.return %5 : tensor<f32> loc(#loc17)
      }) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc(#loc17)
      %4 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 6], [2, 4], [1, 7], [3, 5]]> : tensor<4x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32> loc("psum:"(#loc8)), %arg5: tensor<f32> loc("psum:"(#loc8))):
        %5 = stablehlo.add %arg4, %arg5 : tensor<f32> loc(#loc20)
        stablehlo.return %5 : tensor<f32> loc(#loc17)
      }) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc(#loc17)
      sdy.return %2, %3, %4 : tensor<2x8xf32>, tensor<2x3xf32>, tensor<2x3xf32> loc(#loc11)
    } : (tensor<8x16xf32>, tensor<4x3xf32>) -> (tensor<8x16xf32>, tensor<16x3xf32>, tensor<8x6xf32>) loc(#loc19)
    return %0#0, %0#1, %0#2 : tensor<8x16xf32>, tensor<16x3xf32>, tensor<8x6xf32> loc(#loc21)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc3 = loc("make_exported.py":106:22 to :94)
#loc4 = loc("make_exported.py":118:4 to :10)
#loc6 = loc("devices.py":53:69 to :77)
#loc7 = loc("devices.py":53:53 to :120)
#loc9 = loc("main"(#loc3))
#loc10 = loc("<module>"(#loc4))
#loc12 = loc("<lambda>"(#loc6))
#loc13 = loc("<lambda>"(#loc7))
#loc15 = loc(callsite(#loc9 at #loc10))
#loc16 = loc("slice"(#loc12))
#loc17 = loc("psum"(#loc13))
#loc18 = loc(callsite(#loc13 at #loc13))
#loc19 = loc("jit(<lambda>)/shard_map"(#loc15))
#loc20 = loc("add"(#loc18))
#loc21 = loc("jit(<lambda>)"(#loc15))
