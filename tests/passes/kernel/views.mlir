// RUN: spmd-opt %s --spmdc-normalize-contractions=views --split-input-file | FileCheck %s

// Heads are between positions and features: head h of position t begins at 256 t + 64 h.
// CHECK-LABEL: func.func @heads
// CHECK-NEXT: plan.matmul %arg0, %arg1 {batch = 4 : i64, k = 64 : i64, lhsView = #plan.view<offset = 0, batch = [4, 64], rows = [128, 256], columns = [64, 1]>, m = 128 : i64, n = 32 : i64, rhsView = #plan.view<offset = 0, batch = [4, 64], rows = [64, 1], columns = [32, 256]>, transposeLhs = false, transposeRhs = false}
func.func @heads(%q: !spmd.array<f32[128, 4, 64]>, %k: !spmd.array<f32[32, 4, 64]>) -> !spmd.array<f32[4, 128, 32]> {
  %0 = array.dot_general %q, %k contract [2] x [2] batch [1] x [1] : <f32[128, 4, 64]>, <f32[32, 4, 64]> -> <f32[4, 128, 32]>
  return %0 : !spmd.array<f32[4, 128, 32]>
}

// -----

// A slice of rows and columns; the other operand is in memory as it is multiplied.
// CHECK-LABEL: func.func @slice
// CHECK-NEXT: plan.matmul %arg0, %arg1 {batch = 1 : i64, k = 16 : i64, lhsView = #plan.view<offset = 44, batch = [], rows = [8, 80], columns = [16, 1]>
func.func @slice(%x: !spmd.array<f32[20, 40]>, %y: !spmd.array<f32[16, 6]>) -> !spmd.array<f32[8, 6]> {
  %s = array.slice %x [1, 4] to [16, 20] step [2, 1] : <f32[20, 40]> -> <f32[8, 16]>
  %0 = array.dot_general %s, %y contract [1] x [0] batch [] x [] : <f32[8, 16]>, <f32[16, 6]> -> <f32[8, 6]>
  return %0 : !spmd.array<f32[8, 6]>
}

// -----

// The patches of a convolution of 3 elements: its taps were slices of a padded array, and became pads of their own. They
// are slices of one padded array again, and one view.
// CHECK-LABEL: func.func @patches
// CHECK: %[[PAD:.*]] = array.pad %arg0 with %{{.*}} low [0, 1, 0] high [0, 1, 0]
// CHECK-NOT: concatenate
// CHECK: plan.matmul %[[PAD]], %arg1 {batch = 1 : i64, k = 24 : i64, lhsView = #plan.view<offset = 0, batch = [], rows = [2, 96, 10, 8], columns = [24, 1]>, m = 20
func.func @patches(%x: !spmd.array<f32[2, 10, 8]>, %w: !spmd.array<f32[24, 5]>) -> !spmd.array<f32[2, 10, 5]> {
  %z = array.constant dense<0.0> : tensor<f32> -> <f32[]>
  %a = array.pad %x with %z low [0, 1, 0] high [0, -1, 0] interior [0, 0, 0] : <f32[2, 10, 8]>, <f32[]> -> <f32[2, 10, 8]>
  %b = array.pad %x with %z low [0, -1, 0] high [0, 1, 0] interior [0, 0, 0] : <f32[2, 10, 8]>, <f32[]> -> <f32[2, 10, 8]>
  %p = array.concatenate %a, %x, %b dim 2 : !spmd.array<f32[2, 10, 8]>, !spmd.array<f32[2, 10, 8]>, !spmd.array<f32[2, 10, 8]> -> <f32[2, 10, 24]>
  %0 = array.dot_general %p, %w contract [2] x [0] batch [] x [] : <f32[2, 10, 24]>, <f32[24, 5]> -> <f32[2, 10, 5]>
  return %0 : !spmd.array<f32[2, 10, 5]>
}

// -----

// Pads with different values are no slices of one padded array.
// CHECK-LABEL: func.func @other_padding
// CHECK: array.concatenate
// CHECK: plan.matmul {{.*}} {batch = 1 : i64, k = 16 : i64, m = 20
func.func @other_padding(%x: !spmd.array<f32[2, 10, 8]>, %w: !spmd.array<f32[16, 5]>) -> !spmd.array<f32[2, 10, 5]> {
  %z = array.constant dense<0.0> : tensor<f32> -> <f32[]>
  %o = array.constant dense<1.0> : tensor<f32> -> <f32[]>
  %a = array.pad %x with %z low [0, 1, 0] high [0, -1, 0] interior [0, 0, 0] : <f32[2, 10, 8]>, <f32[]> -> <f32[2, 10, 8]>
  %b = array.pad %x with %o low [0, -1, 0] high [0, 1, 0] interior [0, 0, 0] : <f32[2, 10, 8]>, <f32[]> -> <f32[2, 10, 8]>
  %p = array.concatenate %a, %b dim 2 : !spmd.array<f32[2, 10, 8]>, !spmd.array<f32[2, 10, 8]> -> <f32[2, 10, 16]>
  %0 = array.dot_general %p, %w contract [2] x [0] batch [] x [] : <f32[2, 10, 16]>, <f32[16, 5]> -> <f32[2, 10, 5]>
  return %0 : !spmd.array<f32[2, 10, 5]>
}

// -----

// Slices at unequal distances are copied.
// CHECK-LABEL: func.func @irregular
// CHECK: array.concatenate
// CHECK: plan.matmul
// CHECK-NOT: view
func.func @irregular(%x: !spmd.array<f32[10, 8]>, %w: !spmd.array<f32[24, 5]>) -> !spmd.array<f32[6, 5]> {
  %a = array.slice %x [0, 0] to [6, 8] step [1, 1] : <f32[10, 8]> -> <f32[6, 8]>
  %b = array.slice %x [1, 0] to [7, 8] step [1, 1] : <f32[10, 8]> -> <f32[6, 8]>
  %c = array.slice %x [4, 0] to [10, 8] step [1, 1] : <f32[10, 8]> -> <f32[6, 8]>
  %p = array.concatenate %a, %b, %c dim 1 : !spmd.array<f32[6, 8]>, !spmd.array<f32[6, 8]>, !spmd.array<f32[6, 8]> -> <f32[6, 24]>
  %0 = array.dot_general %p, %w contract [1] x [0] batch [] x [] : <f32[6, 24]>, <f32[24, 5]> -> <f32[6, 5]>
  return %0 : !spmd.array<f32[6, 5]>
}

// -----

// The gradient by a kernel: 9 rows for each of 5 columns, and many terms. The patches become columns.
// CHECK-LABEL: func.func @gradient
// CHECK-NEXT: %[[P:.*]] = plan.matmul %arg1, %arg0 {batch = 1 : i64, k = 600 : i64, m = 5 : i64, n = 24 : i64, rhsView = {{.*}}, transposeLhs = true, transposeRhs = false}
// CHECK-NEXT: array.transpose %[[P]] perm [1, 0]
func.func @gradient(%x: !spmd.array<f32[602, 8]>, %dy: !spmd.array<f32[600, 5]>) -> !spmd.array<f32[24, 5]> {
  %a = array.slice %x [0, 0] to [600, 8] step [1, 1] : <f32[602, 8]> -> <f32[600, 8]>
  %b = array.slice %x [1, 0] to [601, 8] step [1, 1] : <f32[602, 8]> -> <f32[600, 8]>
  %c = array.slice %x [2, 0] to [602, 8] step [1, 1] : <f32[602, 8]> -> <f32[600, 8]>
  %p = array.concatenate %a, %b, %c dim 1 : !spmd.array<f32[600, 8]>, !spmd.array<f32[600, 8]>, !spmd.array<f32[600, 8]> -> <f32[600, 24]>
  %0 = array.dot_general %p, %dy contract [0] x [0] batch [] x [] : <f32[600, 24]>, <f32[600, 5]> -> <f32[24, 5]>
  return %0 : !spmd.array<f32[24, 5]>
}

// -----

// A vector has no tiles, and reads no view.
// CHECK-LABEL: func.func @vector
// CHECK: array.slice
// CHECK-NOT: view
func.func @vector(%x: !spmd.array<f32[20, 40]>, %y: !spmd.array<f32[16]>) -> !spmd.array<f32[8]> {
  %s = array.slice %x [1, 4] to [16, 20] step [2, 1] : <f32[20, 40]> -> <f32[8, 16]>
  %0 = array.dot_general %s, %y contract [1] x [0] batch [] x [] : <f32[8, 16]>, <f32[16]> -> <f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// -----

// Concatenations of concatenations are one: rows, and columns in each of them.
// CHECK-LABEL: func.func @nested
// CHECK-NEXT: array.reshape %arg1
// CHECK-NEXT: plan.matmul %arg0, {{.*}}k = 32 : i64, lhsView = #plan.view<offset = 0, batch = [], rows = [4, 48, 5, 8], columns = [2, 48, 16, 1]>, m = 20
func.func @nested(%x: !spmd.array<f32[5, 6, 8]>, %w: !spmd.array<f32[2, 2, 8, 9]>) -> !spmd.array<f32[4, 5, 9]> {
  %a = array.slice %x [0, 0, 0] to [4, 5, 8] step [1, 1, 1] : <f32[5, 6, 8]> -> <f32[4, 5, 8]>
  %b = array.slice %x [0, 1, 0] to [4, 6, 8] step [1, 1, 1] : <f32[5, 6, 8]> -> <f32[4, 5, 8]>
  %c = array.slice %x [1, 0, 0] to [5, 5, 8] step [1, 1, 1] : <f32[5, 6, 8]> -> <f32[4, 5, 8]>
  %d = array.slice %x [1, 1, 0] to [5, 6, 8] step [1, 1, 1] : <f32[5, 6, 8]> -> <f32[4, 5, 8]>
  %ab = array.concatenate %a, %b dim 2 : !spmd.array<f32[4, 5, 8]>, !spmd.array<f32[4, 5, 8]> -> <f32[4, 5, 16]>
  %cd = array.concatenate %c, %d dim 2 : !spmd.array<f32[4, 5, 8]>, !spmd.array<f32[4, 5, 8]> -> <f32[4, 5, 16]>
  %p = array.concatenate %ab, %cd dim 2 : !spmd.array<f32[4, 5, 16]>, !spmd.array<f32[4, 5, 16]> -> <f32[4, 5, 32]>
  %v = array.reshape %w : <f32[2, 2, 8, 9]> -> <f32[32, 9]>
  %0 = array.dot_general %p, %v contract [2] x [0] batch [] x [] : <f32[4, 5, 32]>, <f32[32, 9]> -> <f32[4, 5, 9]>
  return %0 : !spmd.array<f32[4, 5, 9]>
}

// -----

// An outer product contracts nothing: the view of its rows has no columns.
// CHECK-LABEL: func.func @outer
// CHECK: plan.matmul %arg0, %arg1 {{.*}}k = 1 : i64{{.*}}
func.func @outer(%x: !spmd.array<f32[16, 32]>, %y: !spmd.array<f32[8]>) -> !spmd.array<f32[16, 16, 8]> {
  %s = array.slice %x [0, 8] to [16, 24] step [1, 1] : <f32[16, 32]> -> <f32[16, 16]>
  %0 = array.dot_general %s, %y contract [] x [] batch [] x [] : <f32[16, 16]>, <f32[8]> -> <f32[16, 16, 8]>
  return %0 : !spmd.array<f32[16, 16, 8]>
}
