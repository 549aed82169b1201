// RUN: spmd-opt %s --split-input-file --spmdc-insert-reshards | FileCheck %s

// The forms that a value has (passes/partition/Forms.h) are shared by all who use it.

// To sort rows, columns are cut instead: the array is moved there once, for the order and for what is taken, and the
// order never lies as it is propagated.
// CHECK-LABEL: func.func @sort
// CHECK: %[[X:.*]] = spmd.reshard %arg0 {{.*}} -> <f32[4096@_, 1024@a]>
// CHECK-NEXT: %[[ORDER:.*]] = array.argsort %[[X]] {{.*}} -> <i32[4096@_, 1024@a]>
// CHECK-NEXT: %[[TAKEN:.*]] = array.take_along %[[X]], %[[ORDER]]
// CHECK-NEXT: %[[BACK:.*]] = spmd.reshard %[[TAKEN]] {{.*}} -> <f32[4096@a, 1024@_]>
// CHECK-NEXT: return %[[BACK]]
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @sort(%x: !spmd.array<f32[4096@a, 1024@_]>) -> !spmd.array<f32[4096@a, 1024@_]> {
    %0 = array.argsort %x dim 0 descending = false : <f32[4096@a, 1024@_]> -> <i32[4096@a, 1024@_]>
    %1 = array.take_along %x, %0 dim 0 : <f32[4096@a, 1024@_]>, <i32[4096@a, 1024@_]> -> <f32[4096@a, 1024@_]>
    return %1 : !spmd.array<f32[4096@a, 1024@_]>
  }
}

// -----

// Gathered once for two users.
// CHECK-LABEL: func.func @gathered_once
// CHECK: %[[ALL:.*]] = spmd.reshard %arg0 {{.*}} -> <f32[64@_]>
// CHECK-NOT: spmd.reshard %arg0
// CHECK: array.argsort %[[ALL]] dim 0 descending = false
// CHECK: array.argsort %[[ALL]] dim 0 descending = true
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @gathered_once(%x: !spmd.array<f32[64@a]>) -> (!spmd.array<i32[64@_]>, !spmd.array<i32[64@_]>) {
    %0 = array.argsort %x dim 0 descending = false : <f32[64@a]> -> <i32[64@_]>
    %1 = array.argsort %x dim 0 descending = true : <f32[64@a]> -> <i32[64@_]>
    return %0, %1 : !spmd.array<i32[64@_]>, !spmd.array<i32[64@_]>
  }
}

// -----

// What an arm of a branch has made is not there in the other one, nor behind the branch.
// CHECK-LABEL: func.func @only_where_it_is_visible
// CHECK-COUNT-3: spmd.reshard %arg0 {{.*}} -> <f32[64@_]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @only_where_it_is_visible(%x: !spmd.array<f32[64@a]>, %p: !spmd.array<bool[]>)
      -> (!spmd.array<i32[64@_]>, !spmd.array<i32[64@_]>) {
    %0 = array.if %p {
      %2 = array.argsort %x dim 0 descending = false : <f32[64@a]> -> <i32[64@_]>
      array.yield %2 : !spmd.array<i32[64@_]>
    } else {
      %2 = array.argsort %x dim 0 descending = true : <f32[64@a]> -> <i32[64@_]>
      array.yield %2 : !spmd.array<i32[64@_]>
    } : (!spmd.array<bool[]>) -> !spmd.array<i32[64@_]>
    %1 = array.argsort %x dim 0 descending = false : <f32[64@a]> -> <i32[64@_]>
    return %0, %1 : !spmd.array<i32[64@_]>, !spmd.array<i32[64@_]>
  }
}

// -----

// What a transpose needs gathered is the transpose of the gathered array, whichever is first.
// CHECK-LABEL: func.func @transposed
// CHECK: %[[ALL:.*]] = spmd.reshard %arg0 {{.*}} -> <f32[8@_, 4@_]>
// CHECK-NOT: spmd.reshard
// CHECK: array.dot_general %arg1, %[[ALL]]
// CHECK: %[[TURNED:.*]] = array.transpose %[[ALL]] perm [1, 0] {{.*}} -> <f32[4@_, 8@_]>
// CHECK-NEXT: array.dot_general %arg2, %[[TURNED]]
// CHECK-NOT: spmd.reshard
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @transposed(%w: !spmd.array<f32[8@a, 4@_]>, %x: !spmd.array<f32[16@a, 8@_]>,
                        %y: !spmd.array<f32[16@a, 4@_]>)
      -> (!spmd.array<f32[16@a, 4@_]>, !spmd.array<f32[16@a, 8@_]>) {
    %0 = array.dot_general %x, %w contract [1] x [0] batch [] x []
      : <f32[16@a, 8@_]>, <f32[8@a, 4@_]> -> <f32[16@a, 4@_]>
    %1 = array.transpose %w perm [1, 0] : <f32[8@a, 4@_]> -> <f32[4@_, 8@a]>
    %2 = array.dot_general %y, %1 contract [1] x [0] batch [] x []
      : <f32[16@a, 4@_]>, <f32[4@_, 8@a]> -> <f32[16@a, 8@_]>
    return %0, %2 : !spmd.array<f32[16@a, 4@_]>, !spmd.array<f32[16@a, 8@_]>
  }
  // CHECK-LABEL: func.func @transposed_first
  // CHECK: %[[ALL:.*]] = spmd.reshard %{{.*}} : <f32[4@_, 8@a]> -> <f32[4@_, 8@_]>
  // CHECK-NEXT: array.dot_general %arg2, %[[ALL]]
  // CHECK-NEXT: %[[TURNED:.*]] = array.transpose %[[ALL]] perm [1, 0] {{.*}} -> <f32[8@_, 4@_]>
  // CHECK-NEXT: array.dot_general %arg1, %[[TURNED]]
  // CHECK-NOT: spmd.reshard
  func.func @transposed_first(%w: !spmd.array<f32[8@a, 4@_]>, %x: !spmd.array<f32[16@a, 8@_]>,
                              %y: !spmd.array<f32[16@a, 4@_]>)
      -> (!spmd.array<f32[16@a, 8@_]>, !spmd.array<f32[16@a, 4@_]>) {
    %0 = array.transpose %w perm [1, 0] : <f32[8@a, 4@_]> -> <f32[4@_, 8@a]>
    %1 = array.dot_general %y, %0 contract [1] x [0] batch [] x []
      : <f32[16@a, 4@_]>, <f32[4@_, 8@a]> -> <f32[16@a, 8@_]>
    %2 = array.dot_general %x, %w contract [1] x [0] batch [] x []
      : <f32[16@a, 8@_]>, <f32[8@a, 4@_]> -> <f32[16@a, 4@_]>
    return %1, %2 : !spmd.array<f32[16@a, 8@_]>, !spmd.array<f32[16@a, 4@_]>
  }
}
