// RUN: spmd-opt %s --spmdc-lower-library-calls --split-input-file | FileCheck %s

// Dimensions before the indexed one are outer, those after it inner; the indices are one list.
// CHECK-LABEL: func.func @scatter
// CHECK-NEXT: plan.library "scatter_add"(%arg0, %arg1, %arg2) sizes [8, 6, 12, 5]
func.func @scatter(%x: !spmd.array<f32[8, 6, 5]>, %i: !spmd.array<i32[3, 4]>, %u: !spmd.array<f32[8, 3, 4, 5]>)
    -> !spmd.array<f32[8, 6, 5]> {
  %0 = array.scatter_add %x, %i, %u dim 1 : <f32[8, 6, 5]>, <i32[3, 4]>, <f32[8, 3, 4, 5]> -> <f32[8, 6, 5]>
  return %0 : !spmd.array<f32[8, 6, 5]>
}

// -----

// CHECK-LABEL: func.func @scatter_along
// CHECK-NEXT: plan.library "scatter_add_along"(%arg0, %arg1, %arg2) sizes [1, 8, 3, 6]
func.func @scatter_along(%x: !spmd.array<f32[8, 6]>, %i: !spmd.array<i32[3, 6]>, %u: !spmd.array<f32[3, 6]>)
    -> !spmd.array<f32[8, 6]> {
  %0 = array.scatter_add_along %x, %i, %u dim 0 : <f32[8, 6]>, <i32[3, 6]>, <f32[3, 6]> -> <f32[8, 6]>
  return %0 : !spmd.array<f32[8, 6]>
}

// -----

// CHECK-LABEL: func.func @window
// CHECK-NEXT: plan.library "update_slice"(%arg0, %arg1, %arg2, %arg3) sizes [8, 6, 1, 6]
func.func @window(%x: !spmd.array<f32[8, 6]>, %u: !spmd.array<f32[1, 6]>, %i: !spmd.array<i32[]>,
                  %j: !spmd.array<i32[]>) -> !spmd.array<f32[8, 6]> {
  %0 = array.dynamic_update_slice %x, %u at (%i, %j) : (!spmd.array<f32[8, 6]>, !spmd.array<f32[1, 6]>, !spmd.array<i32[]>,
    !spmd.array<i32[]>) -> !spmd.array<f32[8, 6]>
  return %0 : !spmd.array<f32[8, 6]>
}

// -----

// CHECK-LABEL: func.func @sort
// CHECK-NEXT: plan.library "argsort_descending"(%arg0) sizes [8, 6, 1]
func.func @sort(%x: !spmd.array<f32[8, 6]>) -> !spmd.array<i32[8, 6]> {
  %0 = array.argsort %x dim 1 descending = true : <f32[8, 6]> -> <i32[8, 6]>
  return %0 : !spmd.array<i32[8, 6]>
}

// -----

// Operations that only read at indices are not lowered: they are part of kernels.
// CHECK-LABEL: func.func @reads
// CHECK-NEXT: array.take
func.func @reads(%x: !spmd.array<f32[8, 6]>, %i: !spmd.array<i32[3]>) -> !spmd.array<f32[3, 6]> {
  %0 = array.take %x, %i dim 0 : <f32[8, 6]>, <i32[3]> -> <f32[3, 6]>
  return %0 : !spmd.array<f32[3, 6]>
}
