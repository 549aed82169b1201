// RUN: spmd-opt %s --split-input-file --spmdc-turn-diagonals --spmdc-verify-propagated | FileCheck %s

// From row 1, column 2 on: element 1 * 8 + 2 of the matrix, 2 * 6 + 1 of the transposed matrix.
// CHECK-LABEL: func.func @columns
// CHECK: %[[TURNED:.*]] = array.transpose %arg0 perm [1, 0] : <f32[6@_, 8@a]> -> <f32[8@a, 6@_]>
// CHECK: %[[FLAT:.*]] = array.reshape %[[TURNED]] : <f32[8@a, 6@_]> -> <f32[48@a]>
// CHECK: array.slice %[[FLAT]] [13] to [42] step [7] : <f32[48@a]> -> <f32[5@a]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @columns(%x: !spmd.array<f32[6@_, 8@a]>) -> !spmd.array<f32[5@a]> {
    %0 = array.reshape %x : <f32[6@_, 8@a]> -> <f32[48@_]>
    %1 = array.slice %0 [10] to [47] step [9] : <f32[48@_]> -> <f32[5@a]>
    return %1 : !spmd.array<f32[5@a]>
  }
}

// -----

// Unchanged: sharded rows, of which each device has its diagonal; a column; a diagonal to the left or around the last
// column.
// CHECK-LABEL: func.func @otherwise
// CHECK-NOT: array.transpose
// CHECK: return
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @otherwise(%x: !spmd.array<f32[6@a, 8@_]>, %y: !spmd.array<f32[6@_, 8@a]>) -> (!spmd.array<f32[5@a]>, !spmd.array<f32[6@a]>, !spmd.array<f32[6@a]>, !spmd.array<f32[5@a]>) {
    %0 = array.reshape %x : <f32[6@a, 8@_]> -> <f32[48@a]>
    %1 = array.slice %0 [10] to [47] step [9] : <f32[48@a]> -> <f32[5@a]>
    %2 = array.reshape %y : <f32[6@_, 8@a]> -> <f32[48@_]>
    %3 = array.slice %2 [3] to [44] step [8] : <f32[48@_]> -> <f32[6@a]>
    %4 = array.reshape %y : <f32[6@_, 8@a]> -> <f32[48@_]>
    %5 = array.slice %4 [7] to [43] step [7] : <f32[48@_]> -> <f32[6@a]>
    %6 = array.reshape %y : <f32[6@_, 8@a]> -> <f32[48@_]>
    %7 = array.slice %6 [5] to [42] step [9] : <f32[48@_]> -> <f32[5@a]>
    return %1, %3, %5, %7 : !spmd.array<f32[5@a]>, !spmd.array<f32[6@a]>, !spmd.array<f32[6@a]>, !spmd.array<f32[5@a]>
  }
}
