// The comments name StableHLO's operations, by which the compiler would take this file for an export of JAX.
// RUN: grep -v '//' %s > %t.mlir
// RUN: spmdc compile %t.mlir --emit=stablehlo | FileCheck %s

// A loop is a while that counts; values from outside are carries that each iteration passes on, as in JAX's exports.
// CHECK-LABEL: func.func @main
func.func @main(%x: !spmd.array<f32[4]>, %y: !spmd.array<f32[4]>, %p: !spmd.array<bool[]>) -> (!spmd.array<f32[4]>, !spmd.array<f32[4]>) {
  // CHECK: %[[FIRST:.*]] = stablehlo.constant dense<2> : tensor<i32>
  // CHECK: %[[LOOP:.*]]:3 = stablehlo.while(%[[I:.*]] = %[[FIRST]], %[[C:.*]] = %arg0, %[[Y:.*]] = %arg1)
  // CHECK-NEXT: %[[LAST:.*]] = stablehlo.constant dense<9> : tensor<i32>
  // CHECK-NEXT: compare LT, %[[I]], %[[LAST]], SIGNED
  // CHECK: do
  // CHECK: %[[SUM:.*]] = stablehlo.add %[[C]], %[[Y]] : tensor<4xf32>
  // CHECK: %[[NEXT:.*]] = stablehlo.add %[[I]]
  // CHECK-NEXT: stablehlo.return %[[NEXT]], %[[SUM]], %[[Y]]
  %0 = array.for 2 to 9 (%x) {
  ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[4]>):
    %sum = array.add %c, %y : <f32[4]>
    array.yield %sum : !spmd.array<f32[4]>
  } : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
  // A branch uses values from outside directly.
  // CHECK: "stablehlo.if"(%arg2)
  // CHECK: stablehlo.negate %[[LOOP]]#1
  // CHECK: stablehlo.return %arg1 : tensor<4xf32>
  %1 = array.if %p {
    %n = array.negate %0 : <f32[4]>
    array.yield %n : !spmd.array<f32[4]>
  } else {
    array.yield %y : !spmd.array<f32[4]>
  } : (!spmd.array<bool[]>) -> !spmd.array<f32[4]>
  // CHECK: stablehlo.while(%[[W:.*]] = %{{.*}}, %{{.*}} = %arg1)
  // CHECK: cond
  // CHECK: stablehlo.compare GT, {{.*}}, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %2 = array.while (%1) {
  ^bb0(%c: !spmd.array<f32[4]>):
    %s = array.reduce sum %c dims [0] : <f32[4]> -> <f32[]>
    %one = array.constant dense<1.0> : tensor<f32> -> <f32[]>
    %holds = array.compare gt %s, %one : <f32[]>, <f32[]> -> <bool[]>
    array.yield %holds : !spmd.array<bool[]>
  } do {
  ^bb0(%c: !spmd.array<f32[4]>):
    %m = array.multiply %c, %y : <f32[4]>
    array.yield %m : !spmd.array<f32[4]>
  } : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
  return %0, %2 : !spmd.array<f32[4]>, !spmd.array<f32[4]>
}
