#loc1 = loc("x")
#loc2 = loc("u")
#loc3 = loc("y")
#loc4 = loc("v")
#loc9 = loc("select_and_scatter")
#loc18 = loc("select_and_scatter:"(#loc9))
module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4, "b"=2]> {stablehlo.mesh = {axes = [{name = "a", size = 4 : i64}, {name = "b", size = 2 : i64}]}} loc(#loc)
  func.func public @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>} loc("x"), %arg1: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>} loc("u"), %arg2: tensor<8x6xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>} loc("y"), %arg3: tensor<4x6xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>} loc("v")) -> (tensor<8x6xf32> {jax.result_info = "result[0]"}, tensor<8x6xf32> {jax.result_info = "result[1]"}, tensor<8x6xf32> {jax.result_info = "result[2]"}, tensor<8x6xi1> {jax.result_info = "result[3]"}, tensor<8x6xi1> {jax.result_info = "result[4]"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32> loc(#loc24)
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %cst) <{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg4: tensor<f32> loc("select_and_scatter:"(#loc9)), %arg5: tensor<f32> loc("select_and_scatter:"(#loc9))):
      %5 = stablehlo.compare GE, %arg4, %arg5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1> loc(#loc36)
      stablehlo.return %5 : tensor<i1> loc(#loc35)
    }, {
    ^bb0(%arg4: tensor<f32> loc("select_and_scatter:"(#loc9)), %arg5: tensor<f32> loc("select_and_scatter:"(#loc9))):
      %5 = stablehlo.multiply %arg4, %arg5 : tensor<f32> loc(#loc37)
      stablehlo.return %5 : tensor<f32> loc(#loc35)
    }) : (tensor<8x6xf32>, tensor<4x6xf32>, tensor<f32>) -> tensor<8x6xf32> loc(#loc35)
    %cst_0 = stablehlo.constant dense<-5.000000e+00> : tensor<f32> loc(#loc24)
    %1 = "stablehlo.select_and_scatter"(%arg0, %arg1, %cst_0) <{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg4: tensor<f32> loc("select_and_scatter:"(#loc9)), %arg5: tensor<f32> loc("select_and_scatter:"(#loc9))):
      %5 = stablehlo.compare LE, %arg4, %arg5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1> loc(#loc39)
      stablehlo.return %5 : tensor<i1> loc(#loc38)
    }, {
    ^bb0(%arg4: tensor<f32> loc("select_and_scatter:"(#loc9)), %arg5: tensor<f32> loc("select_and_scatter:"(#loc9))):
      %5 = stablehlo.maximum %arg4, %arg5 : tensor<f32> loc(#loc40)
      stablehlo.return %5 : tensor<f32> loc(#loc38)
    }) : (tensor<8x6xf32>, tensor<4x6xf32>, tensor<f32>) -> tensor<8x6xf32> loc(#loc38)
    %cst_1 = stablehlo.constant dense<5.000000e+00> : tensor<f32> loc(#loc24)
    %2 = "stablehlo.select_and_scatter"(%arg0, %arg1, %cst_1) <{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg4: tensor<f32> loc("select_and_scatter:"(#loc9)), %arg5: tensor<f32> loc("select_and_scatter:"(#loc9))):
      %5 = stablehlo.compare GT, %arg4, %arg5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1> loc(#loc42)
      stablehlo.return %5 : tensor<i1> loc(#loc41)
    }, {
    ^bb0(%arg4: tensor<f32> loc("select_and_scatter:"(#loc9)), %arg5: tensor<f32> loc("select_and_scatter:"(#loc9))):
      %5 = stablehlo.minimum %arg4, %arg5 : tensor<f32> loc(#loc43)
      stablehlo.return %5 : tensor<f32> loc(#loc41)
    }) : (tensor<8x6xf32>, tensor<4x6xf32>, tensor<f32>) -> tensor<8x6xf32> loc(#loc41)
    %c = stablehlo.constant dense<false> : tensor<i1> loc(#loc24)
    %3 = "stablehlo.select_and_scatter"(%arg2, %arg3, %c) <{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg4: tensor<i1> loc("select_and_scatter:"(#loc9)), %arg5: tensor<i1> loc("select_and_scatter:"(#loc9))):
      %5 = stablehlo.compare GE, %arg4, %arg5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1> loc(#loc45)
      stablehlo.return %5 : tensor<i1> loc(#loc44)
    }, {
    ^bb0(%arg4: tensor<i1> loc("select_and_scatter:"(#loc9)), %arg5: tensor<i1> loc("select_and_scatter:"(#loc9))):
      %5 = stablehlo.or %arg4, %arg5 : tensor<i1> loc(#loc46)
      stablehlo.return %5 : tensor<i1> loc(#loc44)
    }) : (tensor<8x6xi1>, tensor<4x6xi1>, tensor<i1>) -> tensor<8x6xi1> loc(#loc44)
    %c_2 = stablehlo.constant dense<true> : tensor<i1> loc(#loc24)
    %4 = "stablehlo.select_and_scatter"(%arg2, %arg3, %c_2) <{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg4: tensor<i1> loc("select_and_scatter:"(#loc9)), %arg5: tensor<i1> loc("select_and_scatter:"(#loc9))):
      %5 = stablehlo.compare LE, %arg4, %arg5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1> loc(#loc48)
      stablehlo.return %5 : tensor<i1> loc(#loc47)
    }, {
    ^bb0(%arg4: tensor<i1> loc("select_and_scatter:"(#loc9)), %arg5: tensor<i1> loc("select_and_scatter:"(#loc9))):
      %5 = stablehlo.and %arg4, %arg5 : tensor<i1> loc(#loc49)
      stablehlo.return %5 : tensor<i1> loc(#loc47)
    }) : (tensor<8x6xi1>, tensor<4x6xi1>, tensor<i1>) -> tensor<8x6xi1> loc(#loc47)
    return %0, %1, %2, %3, %4 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xi1>, tensor<8x6xi1> loc(#loc24)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc5 = loc("make_exported.py":102:22 to :94)
#loc6 = loc("make_exported.py":114:4 to :10)
#loc7 = loc("orders.py":61:11 to :127)
#loc8 = loc("orders.py":64:53 to :95)
#loc10 = loc("orders.py":64:97 to :140)
#loc11 = loc("orders.py":64:142 to :184)
#loc12 = loc("orders.py":65:53 to :106)
#loc13 = loc("orders.py":65:108 to :161)
#loc14 = loc("main"(#loc5))
#loc15 = loc("<module>"(#loc6))
#loc16 = loc("scatter_selected"(#loc7))
#loc17 = loc("<lambda>"(#loc8))
#loc19 = loc("<lambda>"(#loc10))
#loc20 = loc("<lambda>"(#loc11))
#loc21 = loc("<lambda>"(#loc12))
#loc22 = loc("<lambda>"(#loc13))
#loc23 = loc(callsite(#loc14 at #loc15))
#loc24 = loc("jit(<lambda>)"(#loc23))
#loc25 = loc(callsite(#loc17 at #loc23))
#loc26 = loc(callsite(#loc19 at #loc23))
#loc27 = loc(callsite(#loc20 at #loc23))
#loc28 = loc(callsite(#loc21 at #loc23))
#loc29 = loc(callsite(#loc22 at #loc23))
#loc30 = loc(callsite(#loc16 at #loc25))
#loc31 = loc(callsite(#loc16 at #loc26))
#loc32 = loc(callsite(#loc16 at #loc27))
#loc33 = loc(callsite(#loc16 at #loc28))
#loc34 = loc(callsite(#loc16 at #loc29))
#loc35 = loc("jit(<lambda>)/select_and_scatter"(#loc30))
#loc36 = loc("jit(<lambda>)/ge"(#loc30))
#loc37 = loc("jit(<lambda>)/mul"(#loc30))
#loc38 = loc("jit(<lambda>)/select_and_scatter"(#loc31))
#loc39 = loc("jit(<lambda>)/le"(#loc31))
#loc40 = loc("jit(<lambda>)/max"(#loc31))
#loc41 = loc("jit(<lambda>)/select_and_scatter"(#loc32))
#loc42 = loc("jit(<lambda>)/gt"(#loc32))
#loc43 = loc("jit(<lambda>)/min"(#loc32))
#loc44 = loc("jit(<lambda>)/select_and_scatter"(#loc33))
#loc45 = loc("jit(<lambda>)/ge"(#loc33))
#loc46 = loc("jit(<lambda>)/or"(#loc33))
#loc47 = loc("jit(<lambda>)/select_and_scatter"(#loc34))
#loc48 = loc("jit(<lambda>)/le"(#loc34))
#loc49 = loc("jit(<lambda>)/and"(#loc34))
