// The comments name StableHLO's operations, by which the compiler would take this file for an export of JAX.
// RUN: grep -v '//' %s > %t.mlir
// RUN: spmdc compile %t.mlir --emit=stablehlo | FileCheck %s

// Most operations have a counterpart of the same meaning; some of them are CHLO's.
// CHECK-LABEL: func.func @main
func.func @main(%x: !spmd.array<f32[4]>, %h: !spmd.array<f16[4]>, %u: !spmd.array<u32[4]>, %b: !spmd.array<bool[4]>)
    -> (!spmd.array<f32[4]>, !spmd.array<f16[4]>, !spmd.array<u32[4]>, !spmd.array<bool[4]>) {
  // CHECK: %[[ERF:.*]] = chlo.erf %arg0 : tensor<4xf32> -> tensor<4xf32>
  %0 = array.erf %x : <f32[4]>
  // A power of 2 is exact for whole exponents.
  // CHECK: %[[TWO:.*]] = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
  // CHECK: stablehlo.power %[[TWO]], %[[ERF]] : tensor<4xf32>
  %1 = array.exp2 %0 : <f32[4]>
  // CHECK: stablehlo.log_plus_one
  %2 = array.log1p %1 : <f32[4]>
  // A logarithm of f16 is rounded once.
  // CHECK: %[[WIDE:.*]] = stablehlo.convert %arg1 : (tensor<4xf16>) -> tensor<4xf32>
  // CHECK: stablehlo.log %[[WIDE]] : tensor<4xf32>
  // CHECK: stablehlo.divide {{.*}} : tensor<4xf32>
  // CHECK: stablehlo.convert {{.*}} : (tensor<4xf32>) -> tensor<4xf16>
  %3 = array.log2 %h : <f16[4]>
  // StableHLO's sign, abs and arithmetic shift are of signed numbers.
  // CHECK: %[[ONE:.*]] = stablehlo.constant dense<1> : tensor<4xui32>
  // CHECK: %[[SIGN:.*]] = stablehlo.minimum %arg2, %[[ONE]] : tensor<4xui32>
  %4 = array.sign %u : <u32[4]>
  // CHECK: stablehlo.shift_right_logical %[[SIGN]], %arg2 : tensor<4xui32>
  %5 = array.shift_right_arithmetic %4, %u : <u32[4]>
  // CHECK: stablehlo.compare LT, %arg0, {{.*}}, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %6 = array.compare lt %x, %2 : <f32[4]>, <f32[4]> -> <bool[4]>
  // CHECK: stablehlo.compare EQ, {{.*}}, UNSIGNED
  %7 = array.compare eq %6, %b : <bool[4]>, <bool[4]> -> <bool[4]>
  // CHECK: stablehlo.select {{.*}} : tensor<4xi1>, tensor<4xf32>
  %8 = array.select %7, %x, %2 : <bool[4]>, <f32[4]>, <f32[4]> -> <f32[4]>
  return %8, %3, %5, %7 : !spmd.array<f32[4]>, !spmd.array<f16[4]>, !spmd.array<u32[4]>, !spmd.array<bool[4]>
}
