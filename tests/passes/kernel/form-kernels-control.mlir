// RUN: spmd-opt %s --spmdc-form-kernels --split-input-file | FileCheck %s

// Each block has its own kernels. Values from outside are inputs; splats and broadcasts from outside are computed again
// where they are read.
// CHECK-LABEL: func.func @blocks_have_kernels_of_their_own
// CHECK: %[[E:.*]] = plan.launch @exp_0(%arg0)
// CHECK-NEXT: array.for 0 to 4(%arg0)
// CHECK-NEXT: ^bb0(%{{.*}}: !spmd.array<i32[]>, %[[C:.*]]: !spmd.array<f32[8, 4]>):
// CHECK-NEXT: plan.launch @{{[a-z_]*}}1(%[[C]], %[[E]], %arg1)
// CHECK-NEXT: array.yield
// CHECK: plan.kernel @{{[a-z_]*}}1(
// CHECK: array.constant
// CHECK: array.broadcast_in_dim
func.func @blocks_have_kernels_of_their_own(%x: !spmd.array<f32[8, 4]>, %b: !spmd.array<f32[4]>) -> !spmd.array<f32[8, 4]> {
  %two = array.constant dense<2.0> : tensor<8x4xf32> -> <f32[8, 4]>
  %wide = array.broadcast_in_dim %b dims [1] : <f32[4]> -> <f32[8, 4]>
  %e = array.exp %x : <f32[8, 4]>
  %0 = array.for 0 to 4 (%x) {
  ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8, 4]>):
    %1 = array.multiply %c, %two : <f32[8, 4]>
    %2 = array.add %1, %e : <f32[8, 4]>
    %3 = array.add %2, %wide : <f32[8, 4]>
    array.yield %3 : !spmd.array<f32[8, 4]>
  } : (!spmd.array<f32[8, 4]>) -> !spmd.array<f32[8, 4]>
  return %0 : !spmd.array<f32[8, 4]>
}

// -----

// Prints, and loops that print, keep their order, also if they depend on one kernel: the sums are one kernel for both,
// launched before the first print that needs one.
// CHECK-LABEL: func.func @prints_keep_their_order
// CHECK: array.print ["first ", ""]
// CHECK: array.for
// CHECK: array.print ["second ", ""]
// CHECK: array.print ["third ", ""]
// CHECK: array.print ["fourth"]
func.func @prints_keep_their_order(%x: !spmd.array<f32[8, 4]>) -> !spmd.array<f32[]> {
  %0 = array.reduce sum %x dims [0, 1] : <f32[8, 4]> -> <f32[]>
  array.print ["first ", ""](%0) : !spmd.array<f32[]>
  %1 = array.for 0 to 3 (%x) {
  ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8, 4]>):
    array.print ["second ", ""](%i) : !spmd.array<i32[]>
    %2 = array.exp %c : <f32[8, 4]>
    array.yield %2 : !spmd.array<f32[8, 4]>
  } : (!spmd.array<f32[8, 4]>) -> !spmd.array<f32[8, 4]>
  %3 = array.reduce sum %1 dims [0, 1] : <f32[8, 4]> -> <f32[]>
  %4 = array.reduce max %x dims [0, 1] : <f32[8, 4]> -> <f32[]>
  %5 = array.add %3, %4 : <f32[]>
  array.print ["third ", ""](%5) : !spmd.array<f32[]>
  array.print ["fourth"]()
  return %5 : !spmd.array<f32[]>
}
