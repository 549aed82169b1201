// RUN: spmd-opt %s --spmdc-verify-differentiated --split-input-file --verify-diagnostics

func.func @stop_gradient(%x: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
  // expected-error @+1 {{is left after differentiation}}
  %0 = array.stop_gradient %x : <f32[]>
  return %0 : !spmd.array<f32[]>
}

// -----

func.func @checkpoint() {
  // expected-error @+1 {{is left after differentiation}}
  array.checkpoint {
    array.yield
  }
  return
}

// -----

func.func @gradient(%x: !spmd.array<f32[]>) {
  // expected-error @+1 {{is left after differentiation}}
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[]>):
    array.yield %a : !spmd.array<f32[]>
  } : (!spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
  return
}

// -----

// A sum over `a` under a condition that varies over `a`; a sum over `b` is allowed.
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
func.func @divided(%x: !spmd.array<f32[2@a]>) -> !spmd.array<f32[2@a]> {
  %0 = spmd.manual(%x) {
  ^bb0(%p: !spmd.array<f32[1]>):
    %i = spmd.axis_index <a> : <i32[]>
    %z = array.constant dense<0> : tensor<i32> -> <i32[]>
    %c = array.compare eq %i, %z : <i32[]>, <i32[]> -> <bool[]>
    // expected-note @below {{this varies over 'a'}}
    %r = array.if %c {
      %s = spmd.all_reduce sum %p over <b> : <f32[1]> -> <f32[1]>
      // expected-error @below {{'spmd.all_reduce' op is under a condition that differs between devices of its group}}
      %t = spmd.all_reduce sum %s over <b, a> : <f32[1]> -> <f32[1]>
      array.yield %t : !spmd.array<f32[1]>
    } else {
      array.yield %p : !spmd.array<f32[1]>
    } : (!spmd.array<bool[]>) -> !spmd.array<f32[1]>
    spmd.yield %r : !spmd.array<f32[1]>
  } : (!spmd.array<f32[2@a]>) -> !spmd.array<f32[2@a]>
  return %0 : !spmd.array<f32[2@a]>
}
}
