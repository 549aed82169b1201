// RUN: spmd-opt %s --spmdc-build-plan --split-input-file | FileCheck %s

// Collectives are numbered in program order and split into start and done.
// CHECK-LABEL: func.func @collectives_are_numbered_in_order
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @collectives_are_numbered_in_order(%x: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
    // CHECK: %[[T0:.*]] = plan.start 0(%arg0 : <f32[4]>) {
    // CHECK: spmd.all_reduce sum %{{.*}} over <a>
    // CHECK: %[[V0:.*]] = plan.done %[[T0]]
    // CHECK: %[[T1:.*]] = plan.start 1(%[[V0]] : <f32[4]>) {
    // CHECK: spmd.all_reduce max %{{.*}} over <b>
    // CHECK: %[[V1:.*]] = plan.done %[[T1]]
    // CHECK: return %[[V1]]
    %0 = spmd.all_reduce sum %x over <a> : <f32[4]> -> <f32[4]>
    %1 = spmd.all_reduce max %0 over <b> : <f32[4]> -> <f32[4]>
    return %1 : !spmd.array<f32[4]>
  }
}

// -----

// An argument that is returned, a value returned twice, a constant: each result is written by a separate step.
// CHECK-LABEL: func.func @results_are_owned
func.func @results_are_owned(%x: !spmd.array<f32[4]>) -> (!spmd.array<f32[4]>, !spmd.array<f32[4]>, !spmd.array<f32[4]>, !spmd.array<f32[]>) {
  // CHECK: %[[E:.*]] = plan.launch @exp
  // CHECK: %[[C:.*]] = plan.constant dense<3.000000e+00>
  // CHECK: %[[C0:.*]] = plan.copy %arg0
  // CHECK: %[[C2:.*]] = plan.copy %[[E]]
  // CHECK: %[[C3:.*]] = plan.copy %[[C]]
  // CHECK: return %[[C0]], %[[E]], %[[C2]], %[[C3]]
  %e = plan.launch @exp(%x) : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
  %c = array.constant dense<3.0> : tensor<f32> -> <f32[]>
  return %x, %e, %e, %c : !spmd.array<f32[4]>, !spmd.array<f32[4]>, !spmd.array<f32[4]>, !spmd.array<f32[]>
}
plan.kernel @exp(%x: !spmd.array<f32[4]>) {
  %0 = array.exp %x : <f32[4]>
  plan.return %0 : !spmd.array<f32[4]>
}
