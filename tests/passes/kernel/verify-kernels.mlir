// RUN: spmd-opt %s --spmdc-verify-kernels --split-input-file --verify-diagnostics

// The stage's output: launches, collectives and control flow around kernels with schedules.
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @right(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
    %0 = plan.launch @exp(%x) : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
    %1 = spmd.all_reduce sum %0 over <a> : <f32[8]> -> <f32[8]>
    return %1 : !spmd.array<f32[8]>
  }
  plan.kernel @exp(%x: !spmd.array<f32[8]>) attributes {schedule = "rows [8]"} {
    %0 = array.exp %x : <f32[8]>
    plan.return %0 : !spmd.array<f32[8]>
  }
}

// -----

func.func @not_fused(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  // expected-error @+1 {{is in no kernel after the kernels stage}}
  %0 = array.exp %x : <f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// -----

func.func @missing(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  // expected-error @+1 {{names 'exp', which is not a kernel of the module}}
  %0 = plan.launch @exp(%x) : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// -----

func.func @types(%x: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
  // expected-error @+1 {{has other types than its kernel}}
  %0 = plan.launch @exp(%x) : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
  return %0 : !spmd.array<f32[4]>
}
// expected-note @+1 {{the kernel is here}}
plan.kernel @exp(%x: !spmd.array<f32[8]>) attributes {schedule = "rows [8]"} {
  %0 = array.exp %x : <f32[8]>
  plan.return %0 : !spmd.array<f32[8]>
}

// -----

// expected-error @+1 {{has no schedule after the kernels stage}}
plan.kernel @exp(%x: !spmd.array<f32[8]>) {
  %0 = array.exp %x : <f32[8]>
  plan.return %0 : !spmd.array<f32[8]>
}
