// RUN: spmd-opt %s --spmdc-schedule-kernels --split-input-file --verify-diagnostics | FileCheck %s

// A reduction and its users have the same rows.
// CHECK: plan.kernel @share_0{{.*}}extent = 4
module attributes {spmd.mesh = #spmd.mesh<m>} {
  plan.kernel @share_0(%a: !spmd.array<f32[4, 3]>) {
    %0 = array.reduce sum %a dims [1] : <f32[4, 3]> -> <f32[4]>
    %1 = array.broadcast_in_dim %0 dims [0] : <f32[4]> -> <f32[4, 3]>
    %2 = array.divide %a, %1 : <f32[4, 3]>
    plan.return %2 : !spmd.array<f32[4, 3]>
  }
}

// -----

// Arrays of other sizes have no common rows.
module attributes {spmd.mesh = #spmd.mesh<m>} {
  // expected-error @below {{kernel 'apart_0' has no common loops}}
  plan.kernel @apart_0(%a: !spmd.array<f32[7]>, %b: !spmd.array<f32[5]>) {
    %0 = array.exp %a : <f32[7]>
    %1 = array.exp %b : <f32[5]>
    plan.return %0, %1 : !spmd.array<f32[7]>, !spmd.array<f32[5]>
  }
}

// -----

// A last dimension of a few elements is joined to the one before it, so that vectors are full, unless they would be
// gathered from every array.
// CHECK: plan.kernel @one_gather_0{{.*}}rows [1000] lanes rows
// CHECK: plan.kernel @all_gathers_0{{.*}}rows [100, 10, 10] lanes rows
// CHECK: plan.kernel @tiny_0{{.*}}rows [100, 16] lanes rows
module attributes {spmd.mesh = #spmd.mesh<m>} {
  plan.kernel @one_gather_0(%a: !spmd.array<f32[100, 10]>, %b: !spmd.array<f32[10]>) {
    %0 = array.broadcast_in_dim %b dims [1] : <f32[10]> -> <f32[100, 10]>
    %1 = array.add %a, %0 : <f32[100, 10]>
    plan.return %1 : !spmd.array<f32[100, 10]>
  }
  plan.kernel @all_gathers_0(%a: !spmd.array<f32[100, 10]>) {
    %0 = array.broadcast_in_dim %a dims [0, 1] : <f32[100, 10]> -> <f32[100, 10, 10]>
    %1 = array.broadcast_in_dim %a dims [0, 2] : <f32[100, 10]> -> <f32[100, 10, 10]>
    %2 = array.add %0, %1 : <f32[100, 10, 10]>
    plan.return %2 : !spmd.array<f32[100, 10, 10]>
  }
  plan.kernel @tiny_0(%a: !spmd.array<f32[100, 4]>) {
    %0 = array.broadcast_in_dim %a dims [0, 1] : <f32[100, 4]> -> <f32[100, 4, 4]>
    %1 = array.broadcast_in_dim %a dims [0, 2] : <f32[100, 4]> -> <f32[100, 4, 4]>
    %2 = array.add %0, %1 : <f32[100, 4, 4]>
    plan.return %2 : !spmd.array<f32[100, 4, 4]>
  }
}

// -----

// Arrays that are joined element by element: an iteration computes an element of each, and of outputs that have as many.
// CHECK: plan.kernel @parts_0{{.*}}schedule = "rows [300] lanes rows; domain [] store 0 store 0 store 1"
// Without them, or with outputs of other sizes, elements are computed one by one.
// CHECK: plan.kernel @halves_0{{.*}}schedule = "rows [6, 100] lanes rows; domain [] store 0"
// CHECK: plan.kernel @wide_0{{.*}}schedule = "rows [{{.*}}] lanes rows; domain [] store 0"
module attributes {spmd.mesh = #spmd.mesh<m>} {
  plan.kernel @parts_0(%a: !spmd.array<f32[6, 50, 2]>, %b: !spmd.array<f32[6, 50]>) {
    %0 = array.slice %a [0, 0, 0] to [6, 50, 1] step [1, 1, 1] : <f32[6, 50, 2]> -> <f32[6, 50, 1]>
    %1 = array.slice %a [0, 0, 1] to [6, 50, 2] step [1, 1, 1] : <f32[6, 50, 2]> -> <f32[6, 50, 1]>
    %2 = array.reshape %b : <f32[6, 50]> -> <f32[6, 50, 1]>
    %3 = array.multiply %0, %2 : <f32[6, 50, 1]>
    %4 = array.multiply %1, %2 : <f32[6, 50, 1]>
    %5 = array.concatenate %3, %4 dim 2 : !spmd.array<f32[6, 50, 1]>, !spmd.array<f32[6, 50, 1]> -> <f32[6, 50, 2]>
    %6 = array.add %3, %4 : <f32[6, 50, 1]>
    plan.return %5, %6 : !spmd.array<f32[6, 50, 2]>, !spmd.array<f32[6, 50, 1]>
  }
  plan.kernel @halves_0(%a: !spmd.array<f32[6, 50]>, %b: !spmd.array<f32[6, 50]>) {
    %0 = array.concatenate %a, %b dim 1 : !spmd.array<f32[6, 50]>, !spmd.array<f32[6, 50]> -> <f32[6, 100]>
    plan.return %0 : !spmd.array<f32[6, 100]>
  }
  plan.kernel @wide_0(%a: !spmd.array<f32[6, 50, 1]>, %b: !spmd.array<f32[6, 50, 2]>) {
    %0 = array.concatenate %a, %b dim 2 : !spmd.array<f32[6, 50, 1]>, !spmd.array<f32[6, 50, 2]> -> <f32[6, 50, 3]>
    plan.return %0 : !spmd.array<f32[6, 50, 3]>
  }
}
