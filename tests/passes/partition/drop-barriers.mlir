// RUN: spmd-opt %s --spmdc-drop-barriers | FileCheck %s

// CHECK-LABEL: func.func @barriers
func.func @barriers(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  // CHECK-NEXT: %[[S:.*]] = array.sin %arg0
  // CHECK-NEXT: %[[R:.*]] = array.for 0 to 3(%[[S]]) {
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: %[[C:.*]] = array.sin %arg0
  // CHECK-NEXT: array.yield %[[C]]
  // CHECK: return %[[R]]
  %b = array.optimization_barrier %x : <f32[8]>
  %s = array.sin %b : <f32[8]>
  %r = array.for 0 to 3 (%s) {
  ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8]>):
    %d = array.optimization_barrier %b : <f32[8]>
    %e = array.sin %d : <f32[8]>
    array.yield %e : !spmd.array<f32[8]>
  } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
  return %r : !spmd.array<f32[8]>
}
