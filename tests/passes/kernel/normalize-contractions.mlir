// RUN: spmd-opt %s --spmdc-normalize-contractions --split-input-file | FileCheck %s

// The common case needs no transpose.
// CHECK-LABEL: func.func @plain
// CHECK-NEXT: plan.matmul %arg0, %arg1 {batch = 1 : i64, k = 16 : i64, m = 8 : i64, n = 4 : i64, transposeLhs = false, transposeRhs = false}
func.func @plain(%x: !spmd.array<f32[8, 16]>, %y: !spmd.array<f32[16, 4]>) -> !spmd.array<f32[8, 4]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8, 16]>, <f32[16, 4]> -> <f32[8, 4]>
  return %0 : !spmd.array<f32[8, 4]>
}

// -----

// Transposes are absorbed by the flags, on both sides.
// CHECK-LABEL: func.func @flags
// CHECK-NEXT: plan.matmul %arg0, %arg1 {batch = 1 : i64, k = 16 : i64, m = 8 : i64, n = 4 : i64, transposeLhs = true, transposeRhs = true}
func.func @flags(%x: !spmd.array<f32[16, 8]>, %y: !spmd.array<f32[4, 16]>) -> !spmd.array<f32[8, 4]> {
  %t = array.transpose %y perm [1, 0] : <f32[4, 16]> -> <f32[16, 4]>
  %0 = array.dot_general %x, %t contract [0] x [0] batch [] x [] : <f32[16, 8]>, <f32[16, 4]> -> <f32[8, 4]>
  return %0 : !spmd.array<f32[8, 4]>
}

// -----

// Several batch, free and contracted dimensions count as one each; the batch of the left side is last and has
// to be moved to the front.
// CHECK-LABEL: func.func @many
// CHECK-NEXT: %[[T:.*]] = array.transpose %arg0 perm [2, 0, 1]
// CHECK-NEXT: plan.matmul %[[T]], %arg1 {batch = 5 : i64, k = 3 : i64, m = 2 : i64, n = 28 : i64, transposeLhs = false, transposeRhs = false}
func.func @many(%x: !spmd.array<f32[2, 3, 5]>, %y: !spmd.array<f32[5, 3, 4, 7]>) -> !spmd.array<f32[5, 2, 4, 7]> {
  %0 = array.dot_general %x, %y contract [1] x [1] batch [2] x [0] : <f32[2, 3, 5]>, <f32[5, 3, 4, 7]> -> <f32[5, 2, 4, 7]>
  return %0 : !spmd.array<f32[5, 2, 4, 7]>
}
