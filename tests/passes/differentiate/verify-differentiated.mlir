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
