// Transforms are products with constant matrices.
// RUN: spmd-opt %s --spmdc-decompose-fourier | FileCheck %s

// 96 = 12 x 8. Both parts of 12 elements, 8 apart, give both parts of 12 frequencies; twiddle factors follow; then 8.
// CHECK-LABEL: func.func @main
// CHECK: array.reshape %{{.*}} : <f32[3, 96, 2]> -> <f32[3, 12, 8, 2]>
// CHECK: array.dot_general {{.*}} : <f32[3, 12, 8, 2]>, <f32[12, 2, 12, 2]> -> <f32[3, 8, 12, 2]>
// CHECK: array.reverse {{.*}} dims [3] : <f32[3, 8, 12, 2]> -> <f32[3, 8, 12, 2]>
// CHECK: array.dot_general {{.*}} : <f32[3, 8, 12, 2]>, <f32[8, 2, 8, 2]> -> <f32[3, 12, 8, 2]>
// CHECK: array.transpose {{.*}} perm [0, 2, 1, 3] : <f32[3, 12, 8, 2]> -> <f32[3, 8, 12, 2]>
// CHECK: array.reshape {{.*}} -> <f32[3, 96, 2]>
func.func @main(%x: !spmd.array<f32[3, 96, 2]>) -> !spmd.array<f32[3, 96, 2]> {
  %0 = array.fft %x dim 1 length 96 divisor 1 : <f32[3, 96, 2]> -> <f32[3, 96, 2]>
  return %0 : !spmd.array<f32[3, 96, 2]>
}

// Of real rows, half: one part in, and 5 of 8 digits out, which are 60 frequencies, of which 49 are wanted.
// CHECK-LABEL: func.func @rows
// CHECK: array.dot_general {{.*}} : <f32[3, 12, 8, 1]>, <f32[12, 1, 12, 2]> -> <f32[3, 8, 12, 2]>
// CHECK: array.dot_general {{.*}} <f32[8, 2, 5, 2]> -> <f32[3, 12, 5, 2]>
// CHECK: array.slice {{.*}} [0, 0, 0] to [3, 49, 2] step [1, 1, 1] : <f32[3, 60, 2]> -> <f32[3, 49, 2]>
func.func @rows(%x: !spmd.array<f32[3, 96, 1]>) -> !spmd.array<f32[3, 49, 2]> {
  %0 = array.fft %x dim 1 length 96 divisor 1 : <f32[3, 96, 1]> -> <f32[3, 49, 2]>
  return %0 : !spmd.array<f32[3, 49, 2]>
}

// Back to real numbers, half as well: 7 of 12 digits in, one part out.
// CHECK-LABEL: func.func @back
// CHECK: array.pad {{.*}} <f32[3, 49, 2]>, <f32[]> -> <f32[3, 56, 2]>
// CHECK: array.dot_general {{.*}} : <f32[3, 7, 8, 2]>, <f32[7, 2, 12, 2]> -> <f32[3, 8, 12, 2]>
// CHECK: array.dot_general {{.*}} <f32[8, 2, 8, 1]> -> <f32[3, 12, 8, 1]>
func.func @back(%x: !spmd.array<f32[3, 49, 2]>) -> !spmd.array<f32[3, 96, 1]> {
  %0 = array.fft %x dim 1 length 96 inverse divisor 96 : <f32[3, 49, 2]> -> <f32[3, 96, 1]>
  return %0 : !spmd.array<f32[3, 96, 1]>
}
