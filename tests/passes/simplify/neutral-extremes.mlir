// RUN: spmd-opt %s --spmdc-simplify | FileCheck %s

// The maximum with -inf and the minimum with inf are the other operand, also where it is NaN; with other numbers, or the
// other infinity, they are not.
// CHECK-LABEL: func.func @neutral_extremes
// CHECK: %[[A:.*]] = array.maximum %arg0, %{{.*}} : <f32[8]>
// CHECK-NEXT: %[[B:.*]] = array.minimum %arg0, %{{.*}} : <f32[8]>
// CHECK-NEXT: return %arg0, %arg0, %[[A]], %[[B]]
func.func @neutral_extremes(%x: !spmd.array<f32[8]>) -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8]>) {
  %low = array.constant dense<0xFF800000> : tensor<8xf32> -> <f32[8]>
  %high = array.constant dense<0x7F800000> : tensor<8xf32> -> <f32[8]>
  %0 = array.maximum %low, %x : <f32[8]>
  %1 = array.minimum %x, %high : <f32[8]>
  %2 = array.maximum %x, %high : <f32[8]>
  %3 = array.minimum %x, %low : <f32[8]>
  return %0, %1, %2, %3 : !spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8]>
}
