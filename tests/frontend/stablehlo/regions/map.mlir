// The region of a map is applied to arrays of elements, also where it gives a constant or an element of another type.
// RUN: spmdc run %s --input x=iota --input y=ones --print | FileCheck %s

func.func public @main(%x: tensor<2x3xf32> loc("x"), %y: tensor<2x3xf32> loc("y"))
    -> (tensor<2x3xf32>, tensor<2x3xi1>, tensor<2x3xi32>, tensor<2x3xf32>) {
  %0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %p = stablehlo.multiply %a, %two : tensor<f32>
    %s = stablehlo.add %p, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: 0: f32[2, 3]
  // CHECK-NEXT: {{\[}}[ 1. 3. 5.]
  // CHECK-NEXT: [ 7. 9. 11.]]
  %1 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: 1: bool[2, 3]
  // CHECK-NEXT: {{\[}}[ True True False]
  // CHECK-NEXT: [False False False]]
  %2 = "stablehlo.map"(%x) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>):
    %seven = stablehlo.constant dense<7> : tensor<i32>
    stablehlo.return %seven : tensor<i32>
  }) : (tensor<2x3xf32>) -> tensor<2x3xi32>
  // CHECK: 2: i32[2, 3]
  // CHECK-NEXT: {{\[}}[7 7 7]
  // CHECK-NEXT: [7 7 7]]
  // The imaginary part of numbers that are not complex.
  %3 = stablehlo.imag %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: 3: f32[2, 3]
  // CHECK-NEXT: {{\[}}[0. 0. 0.]
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xi1>, tensor<2x3xi32>, tensor<2x3xf32>
}
