// RUN: spmd-opt %s --spmdc-insert-reshards --spmdc-partition --split-input-file --verify-diagnostics

// Partial sums come from operations; a value that is whole cannot be asked to be one.
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @whole_to_partial(%x: !spmd.array<f32[8@_]>) -> !spmd.array<f32[8@_] unreduced(a)> {
    // expected-error @+1 {{takes f32[8@_] to f32[8@_] unreduced(a); only an operation can make partial sums}}
    %0 = array.exp %x : (<f32[8@_]>) -> <f32[8@_] unreduced(a)>
    return %0 : !spmd.array<f32[8@_] unreduced(a)>
  }
}
