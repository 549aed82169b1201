// RUN: spmd-opt %s --split-input-file --spmdc-order-contractions --spmdc-verify-propagated | FileCheck %s
// RUN: spmd-opt %s --split-input-file --verify-diagnostics --spmdc-order-contractions=remarks=1 -o /dev/null

// If x is sharded along label 1, its product with s stays sharded, and 16 x 16 x 8 elements are reduced. With c first,
// 16 x 512 x 8 would be. Both need the same number of multiplications.
// CHECK-LABEL: func.func @where_operands_lie
// CHECK: %[[FIRST:.*]] = array.dot_general %arg1, %arg2 contract [1] x [1]
// CHECK-SAME: -> <f32[16@_, 512@a, 8@_]>
// CHECK: %[[SECOND:.*]] = array.dot_general %arg0, %[[FIRST]] contract [1] x [1]
// CHECK-SAME: -> <f32[16@_, 16@_, 8@_]>
// CHECK: %[[RESULT:.*]] = array.transpose %[[SECOND]] {{.*}} -> <f32[16@_, 8@_, 16@_]>
// CHECK: return %[[RESULT]]
module attributes {spmd.mesh = #spmd.mesh<m, a=8>} {
  func.func @where_operands_lie(%c: !spmd.array<f32[16@_, 512@_]>, %s: !spmd.array<f32[16@_, 512@_]>,
                                %x: !spmd.array<f32[512@a, 512@_, 8@_]>) -> !spmd.array<f32[16@_, 8@_, 16@_]> {
    // expected-remark@+1 {{einsum multiplies its operands as (0 * (1 * 2))}}
    %0 = array.einsum %c, %s, %x labels [[0, 1], [2, 3], [1, 3, 4]] -> [0, 4, 2] : !spmd.array<f32[16@_, 512@_]>, !spmd.array<f32[16@_, 512@_]>, !spmd.array<f32[512@a, 512@_, 8@_]> -> <f32[16@_, 8@_, 16@_]>
    return %0 : !spmd.array<f32[16@_, 8@_, 16@_]>
  }
}

// -----

// The same with x sharded along label 3.
// CHECK-LABEL: func.func @cut_otherwise
// CHECK: array.dot_general %arg0, %arg2
module attributes {spmd.mesh = #spmd.mesh<m, a=8>} {
  func.func @cut_otherwise(%c: !spmd.array<f32[16@_, 512@_]>, %s: !spmd.array<f32[16@_, 512@_]>,
                           %x: !spmd.array<f32[512@_, 512@a, 8@_]>) -> !spmd.array<f32[16@_, 8@_, 16@_]> {
    // expected-remark@+1 {{einsum multiplies its operands as ((0 * 2) * 1)}}
    %0 = array.einsum %c, %s, %x labels [[0, 1], [2, 3], [1, 3, 4]] -> [0, 4, 2] : !spmd.array<f32[16@_, 512@_]>, !spmd.array<f32[16@_, 512@_]>, !spmd.array<f32[512@_, 512@a, 8@_]> -> <f32[16@_, 8@_, 16@_]>
    return %0 : !spmd.array<f32[16@_, 8@_, 16@_]>
  }
}

// -----

// Without shardings: the fewest multiplications, as in every textbook on matrix chains.
// CHECK-LABEL: func.func @matrices
// CHECK: %[[LAST:.*]] = array.dot_general %arg2, %arg3
// CHECK: %[[LATER:.*]] = array.dot_general %arg1, %[[LAST]]
// CHECK: array.dot_general %arg0, %[[LATER]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @matrices(%x: !spmd.array<f32[512@_, 512@_]>, %y: !spmd.array<f32[512@_, 512@_]>, %z: !spmd.array<f32[512@_, 512@_]>,
                      %v: !spmd.array<f32[512@_]>) -> !spmd.array<f32[512@_]> {
    // expected-remark@+1 {{einsum multiplies its operands as (0 * (1 * (2 * 3)))}}
    %0 = array.einsum %x, %y, %z, %v labels [[0, 1], [1, 2], [2, 3], [3]] -> [0] : !spmd.array<f32[512@_, 512@_]>, !spmd.array<f32[512@_, 512@_]>, !spmd.array<f32[512@_, 512@_]>, !spmd.array<f32[512@_]> -> <f32[512@_]>
    return %0 : !spmd.array<f32[512@_]>
  }
}

// -----

// A product that sums over no label is element-wise.
// CHECK-LABEL: func.func @outer
// CHECK: array.multiply
// CHECK: array.multiply
// CHECK-NOT: dot_general
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @outer(%x: !spmd.array<f32[4@a]>, %y: !spmd.array<f32[8@_]>) -> !spmd.array<f32[4@a, 8@_, 8@_]> {
    // expected-remark@+1 {{einsum multiplies its operands as}}
    %0 = array.einsum %x, %y, %y labels [[0], [1], [2]] -> [0, 1, 2] : !spmd.array<f32[4@a]>, !spmd.array<f32[8@_]>, !spmd.array<f32[8@_]> -> <f32[4@a, 8@_, 8@_]>
    return %0 : !spmd.array<f32[4@a, 8@_, 8@_]>
  }
}

// -----

// More operands than the search compares; an annotated result keeps its annotation.
// CHECK-LABEL: func.func @many
// CHECK-COUNT-6: array.dot_general
// CHECK: array.dot_general {{.*}}spmd.annotated
// CHECK-NOT: array.dot_general
// CHECK-NOT: array.einsum
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @many(%x: !spmd.array<f32[4@a, 4@_]>) -> !spmd.array<f32[4@a, 4@_]> {
    // expected-remark@+1 {{einsum multiplies its operands as}}
    %0 = array.einsum %x, %x, %x, %x, %x, %x, %x, %x labels [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 8]] -> [0, 8] {spmd.annotated} : !spmd.array<f32[4@a, 4@_]>, !spmd.array<f32[4@a, 4@_]>, !spmd.array<f32[4@a, 4@_]>, !spmd.array<f32[4@a, 4@_]>, !spmd.array<f32[4@a, 4@_]>, !spmd.array<f32[4@a, 4@_]>, !spmd.array<f32[4@a, 4@_]>, !spmd.array<f32[4@a, 4@_]> -> <f32[4@a, 4@_]>
    return %0 : !spmd.array<f32[4@a, 4@_]>
  }
}
