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

// -----

// A matrix that is computed for this product alone: its rows, or its columns, are summed for each of a few vectors.
// CHECK-LABEL: func.func @computed
// CHECK: %[[W:.*]] = array.convert %arg1 : <i8[128, 64]> -> <f32[128, 64]>
// CHECK: %[[V:.*]] = array.broadcast_in_dim %{{.*}} dims [0] : <f32[128]> -> <f32[128, 64]>
// CHECK: %[[P:.*]] = array.multiply %[[W]], %[[V]] : <f32[128, 64]>
// CHECK: %[[S:.*]] = array.reduce sum %[[P]] dims [0] : <f32[128, 64]> -> <f32[64]>
// CHECK: %[[Q:.*]] = array.multiply %[[W]], %{{.*}} : <f32[128, 64]>
// CHECK: %[[T:.*]] = array.reduce sum %[[Q]] dims [0] : <f32[128, 64]> -> <f32[64]>
// CHECK: array.concatenate %{{.*}}, %{{.*}} dim 0 : {{.*}} -> <f32[2, 64]>
func.func @computed(%x: !spmd.array<f32[2, 128]>, %w: !spmd.array<i8[128, 64]>) -> !spmd.array<f32[2, 64]> {
  %0 = array.convert %w : <i8[128, 64]> -> <f32[128, 64]>
  %1 = array.dot_general %x, %0 contract [1] x [0] batch [] x [] : <f32[2, 128]>, <f32[128, 64]> -> <f32[2, 64]>
  return %1 : !spmd.array<f32[2, 64]>
}

// -----

// A transpose before the conversion; the matrix on the left; bytes that are summed in 32 bits.
// CHECK-LABEL: func.func @turned
// CHECK: array.convert %arg0 : <i8[64, 128]> -> <f32[64, 128]>
// CHECK: array.reduce sum %{{.*}} dims [1] : <f32[64, 128]> -> <f32[64]>
// CHECK: array.concatenate %{{.*}}, %{{.*}} dim 1 : {{.*}} -> <f32[64, 2]>
// CHECK: array.multiply %{{.*}}, %{{.*}} : <i32[64, 8]>
// CHECK-NEXT: array.reduce sum %{{.*}} dims [1] : <i32[64, 8]> -> <i32[64]>
func.func @turned(%w: !spmd.array<i8[64, 128]>, %x: !spmd.array<f32[128, 2]>, %z: !spmd.array<i8[64, 8]>, %y: !spmd.array<i8[8]>)
    -> (!spmd.array<f32[64, 2]>, !spmd.array<i32[64]>) {
  %0 = array.transpose %w perm [1, 0] : <i8[64, 128]> -> <i8[128, 64]>
  %1 = array.convert %0 : <i8[128, 64]> -> <f32[128, 64]>
  %2 = array.dot_general %1, %x contract [0] x [0] batch [] x [] : <f32[128, 64]>, <f32[128, 2]> -> <f32[64, 2]>
  %3 = array.dot_general %z, %y contract [1] x [0] batch [] x [] : <i8[64, 8]>, <i8[8]> -> <i32[64]>
  return %2, %3 : !spmd.array<f32[64, 2]>, !spmd.array<i32[64]>
}

// -----

// Left to the library: a computed matrix that has another use, a small one, and one times more vectors.
// CHECK-LABEL: func.func @library
// CHECK-COUNT-3: array.dot_general
func.func @library(%x: !spmd.array<f32[2, 128]>, %w: !spmd.array<i8[128, 64]>, %z: !spmd.array<i8[128, 32]>, %y: !spmd.array<f32[9, 128]>, %v: !spmd.array<i8[128, 96]>)
    -> (!spmd.array<f32[2, 64]>, !spmd.array<f32[128, 64]>, !spmd.array<f32[2, 32]>, !spmd.array<f32[9, 96]>) {
  %0 = array.convert %w : <i8[128, 64]> -> <f32[128, 64]>
  %1 = array.dot_general %x, %0 contract [1] x [0] batch [] x [] : <f32[2, 128]>, <f32[128, 64]> -> <f32[2, 64]>
  %2 = array.convert %z : <i8[128, 32]> -> <f32[128, 32]>
  %3 = array.dot_general %x, %2 contract [1] x [0] batch [] x [] : <f32[2, 128]>, <f32[128, 32]> -> <f32[2, 32]>
  %4 = array.convert %v : <i8[128, 96]> -> <f32[128, 96]>
  %5 = array.dot_general %y, %4 contract [1] x [0] batch [] x [] : <f32[9, 128]>, <f32[128, 96]> -> <f32[9, 96]>
  return %1, %0, %3, %5 : !spmd.array<f32[2, 64]>, !spmd.array<f32[128, 64]>, !spmd.array<f32[2, 32]>, !spmd.array<f32[9, 96]>
}
