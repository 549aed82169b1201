// Narrow numbers are bytes: movement moves them, arithmetic converts them.
// RUN: spmdc compile %s --emit=array | FileCheck %s
// RUN: spmdc compile %s --emit=stablehlo | FileCheck %s --check-prefix=BACK

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: !spmd.array<u8[8, 4]> {spmd.format = "f8E4M3FN", spmd.name = "x"}, %[[W:.*]]: !spmd.array<i8[4, 4]> {spmd.format = "i4", spmd.name = "w"}
// CHECK-SAME: -> (!spmd.array<u8[4, 8]> {spmd.format = "f8E4M3FN"}, !spmd.array<f32[8, 4]>, !spmd.array<u8[8, 4]> {spmd.format = "f8E5M2"}, !spmd.array<i8[4, 4]> {spmd.format = "i4"}, !spmd.array<f32[8]>)
// The text has the types again.
// BACK: func.func @main(%arg0: tensor<8x4xf8E4M3FN> {{.*}}, %arg1: tensor<4x4xi4>
// BACK-SAME: -> (tensor<4x8xf8E4M3FN>{{.*}}, tensor<8x4xf32>{{.*}}, tensor<8x4xf8E5M2>{{.*}}, tensor<4x4xi4>
// BACK: stablehlo.bitcast_convert %arg0 : (tensor<8x4xf8E4M3FN>) -> tensor<8x4xui8>
// BACK: stablehlo.convert %arg1 : (tensor<4x4xi4>) -> tensor<4x4xi8>
func.func public @main(%x: tensor<8x4xf8E4M3FN> loc("x"), %w: tensor<4x4xi4> loc("w")) -> (tensor<4x8xf8E4M3FN>, tensor<8x4xf32>, tensor<8x4xf8E5M2>, tensor<4x4xi4>, tensor<8xf32>) {
  // CHECK: %[[T:.*]] = array.transpose %[[X]] perm [1, 0] : <u8[8, 4]> -> <u8[4, 8]>
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x4xf8E4M3FN>) -> tensor<4x8xf8E4M3FN>
  // A product of bf16, which is exact for narrow numbers, with a sum of f32.
  // The high bits of a byte have no effect.
  // CHECK: %[[LEFT:.*]] = array.shift_left %[[W]]
  // CHECK: %[[VALUES:.*]] = array.shift_right_arithmetic %[[LEFT]]
  // CHECK: array.convert %[[VALUES]] : <i8[4, 4]> -> <f32[4, 4]>
  // CHECK: array.dot_general {{.*}} : <bf16[8, 4]>, <bf16[4, 4]> -> <f32[8, 4]>
  %f = stablehlo.convert %w : (tensor<4x4xi4>) -> tensor<4x4xf32>
  %g = stablehlo.convert %f : (tensor<4x4xf32>) -> tensor<4x4xf8E4M3FN>
  %1 = stablehlo.dot_general %x, %g, contracting_dims = [1] x [0] : (tensor<8x4xf8E4M3FN>, tensor<4x4xf8E4M3FN>) -> tensor<8x4xf32>
  // CHECK: array.add {{.*}} : <f16[8, 4]>
  %2 = stablehlo.add %x, %x : tensor<8x4xf8E4M3FN>
  %3 = stablehlo.convert %2 : (tensor<8x4xf8E4M3FN>) -> tensor<8x4xf8E5M2>
  // CHECK: %[[SUM:.*]] = array.add {{.*}} : <i8[4, 4]>
  // CHECK: array.shift_left %[[SUM]]
  %4 = stablehlo.add %w, %w : tensor<4x4xi4>
  // The sum of f32, with its neutral value, is rounded once.
  // CHECK: array.reduce sum {{.*}} : <f32[8, 4]> -> <f32[8]>
  %zero = stablehlo.constant dense<0.0> : tensor<f8E4M3FN>
  %5 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<8xf8E4M3FN>
  %6 = stablehlo.convert %5 : (tensor<8xf8E4M3FN>) -> tensor<8xf32>
  return %0, %1, %3, %4, %6 : tensor<4x8xf8E4M3FN>, tensor<8x4xf32>, tensor<8x4xf8E5M2>, tensor<4x4xi4>, tensor<8xf32>
}
