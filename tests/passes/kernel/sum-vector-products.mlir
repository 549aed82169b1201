// RUN: spmd-opt %s --spmdc-sum-vector-products --canonicalize --split-input-file | FileCheck %s

// The rows of the matrix are contiguous.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT: %[[V:.*]] = array.broadcast_in_dim %arg1 dims [1] : <f32[8]> -> <f32[64, 8]>
// CHECK-NEXT: %[[P:.*]] = array.multiply %arg0, %[[V]] : <f32[64, 8]>
// CHECK-NEXT: array.reduce sum %[[P]] dims [1] : <f32[64, 8]> -> <f32[64]>
func.func @rows(%x: !spmd.array<f32[64, 8]>, %y: !spmd.array<f32[8]>) -> !spmd.array<f32[64]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[64, 8]>, <f32[8]> -> <f32[64]>
  return %0 : !spmd.array<f32[64]>
}

// -----

// The vector is on the left, and the matrix is transposed in the program alone.
// CHECK-LABEL: func.func @transposed
// CHECK: array.multiply %arg0, %{{.*}} : <f32[64, 8]>
// CHECK-NEXT: %[[S:.*]] = array.reduce sum %{{.*}} dims [1] : <f32[64, 8]> -> <f32[64]>
// CHECK-NEXT: array.reshape %[[S]] : <f32[64]> -> <f32[1, 64]>
func.func @transposed(%x: !spmd.array<f32[64, 8]>, %y: !spmd.array<f32[1, 8]>) -> !spmd.array<f32[1, 64]> {
  %0 = array.transpose %x perm [1, 0] : <f32[64, 8]> -> <f32[8, 64]>
  %1 = array.dot_general %y, %0 contract [1] x [0] batch [] x [] : <f32[1, 8]>, <f32[8, 64]> -> <f32[1, 64]>
  return %1 : !spmd.array<f32[1, 64]>
}

// -----

// Two contracted dimensions, which the vector holds in the other order, batches behind the vector's, and sums in f32.
// CHECK-LABEL: func.func @batches
// CHECK-DAG: array.transpose %arg1 perm [2, 1, 0] : <bf16[6, 4, 3]> -> <bf16[3, 4, 6]>
// CHECK: array.multiply %{{.*}}, %{{.*}} : <f32[3, 5, 24]>
// CHECK-NEXT: array.reduce sum %{{.*}} dims [2] : <f32[3, 5, 24]> -> <f32[3, 5]>
// CHECK-NEXT: array.convert %{{.*}} : <f32[3, 5]> -> <bf16[3, 5]>
func.func @batches(%x: !spmd.array<bf16[3, 5, 4, 6]>, %y: !spmd.array<bf16[6, 4, 3]>) -> !spmd.array<bf16[3, 5]> {
  %0 = array.dot_general %x, %y contract [2, 3] x [1, 0] batch [0] x [2] : <bf16[3, 5, 4, 6]>, <bf16[6, 4, 3]> -> <bf16[3, 5]>
  return %0 : !spmd.array<bf16[3, 5]>
}

// -----

// The library reads columns, and multiplies matrices.
// CHECK-LABEL: func.func @columns
// CHECK-COUNT-2: array.dot_general
func.func @columns(%x: !spmd.array<f32[64, 8]>, %y: !spmd.array<f32[64]>, %z: !spmd.array<f32[8, 2]>)
    -> (!spmd.array<f32[8]>, !spmd.array<f32[64, 2]>) {
  %0 = array.dot_general %y, %x contract [0] x [0] batch [] x [] : <f32[64]>, <f32[64, 8]> -> <f32[8]>
  %1 = array.dot_general %x, %z contract [1] x [0] batch [] x [] : <f32[64, 8]>, <f32[8, 2]> -> <f32[64, 2]>
  return %0, %1 : !spmd.array<f32[8]>, !spmd.array<f32[64, 2]>
}
