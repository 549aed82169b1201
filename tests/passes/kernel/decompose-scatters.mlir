// RUN: spmd-opt %s --spmdc-decompose-scatters --split-input-file | FileCheck %s

// The number of the update at each position: nothing is sorted.
// CHECK-LABEL: func.func @unique
// CHECK-NOT: array.argsort
// CHECK-NOT: array.for
// CHECK: array.scatter_add
// CHECK: array.take
// CHECK: array.select

func.func @unique(%x: !spmd.array<f32[8]>, %i: !spmd.array<i32[5]>, %u: !spmd.array<f32[5]>) -> !spmd.array<f32[8]> {
  %0 = array.scatter replace %x, %i, %u dim 0 unique : <f32[8]>, <i32[5]>, <f32[5]> -> <f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// -----

// The last one of each run of the sorted indices.
// CHECK-LABEL: func.func @replace
// CHECK: array.argsort
// CHECK-NOT: array.for
// CHECK: array.scatter_add
func.func @replace(%x: !spmd.array<f32[8]>, %i: !spmd.array<i32[5]>, %u: !spmd.array<f32[5]>) -> !spmd.array<f32[8]> {
  %0 = array.scatter replace %x, %i, %u dim 0 : <f32[8]>, <i32[5]>, <f32[5]> -> <f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// -----

// A scan over 3 distances; products of 16-bit floats are rounded once.
// CHECK-LABEL: func.func @product
// CHECK: array.convert {{.*}} -> <f32[8, 6, 1]>
// CHECK: array.argsort
// CHECK: array.for 0 to 3
// CHECK: array.multiply
// CHECK: array.scatter_add_along
// CHECK: array.convert {{.*}} : <f32[8, 6, 1]> -> <bf16[8, 6, 1]>
func.func @product(%x: !spmd.array<bf16[8, 6]>, %i: !spmd.array<i32[8, 5]>, %u: !spmd.array<bf16[8, 5]>)
    -> !spmd.array<bf16[8, 6]> {
  %0 = array.scatter prod %x, %i, %u dim 1 along : <bf16[8, 6]>, <i32[8, 5]>, <bf16[8, 5]> -> <bf16[8, 6]>
  return %0 : !spmd.array<bf16[8, 6]>
}
