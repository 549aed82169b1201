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
