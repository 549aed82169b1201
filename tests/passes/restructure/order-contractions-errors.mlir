// RUN: spmd-opt %s --verify-diagnostics --spmdc-order-contractions

// No two of these operands share more than one label, so each product of two has 2^72 elements.
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @huge(%x: !spmd.array<f32[262144@_, 262144@_, 262144@_]>) -> !spmd.array<f32[]> {
    // expected-error@+1 {{in every order of the products of this einsum some array would have more than 2^56 bytes}}
    %0 = array.einsum %x, %x, %x, %x, %x, %x labels [[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 4, 7], [2, 5, 8], [3, 6, 9]] -> [] : !spmd.array<f32[262144@_, 262144@_, 262144@_]>, !spmd.array<f32[262144@_, 262144@_, 262144@_]>, !spmd.array<f32[262144@_, 262144@_, 262144@_]>, !spmd.array<f32[262144@_, 262144@_, 262144@_]>, !spmd.array<f32[262144@_, 262144@_, 262144@_]>, !spmd.array<f32[262144@_, 262144@_, 262144@_]> -> <f32[]>
    return %0 : !spmd.array<f32[]>
  }
}
