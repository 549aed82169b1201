// RUN: spmd-opt %s --spmdc-insert-reshards --spmdc-align-collectives --spmdc-partition --spmdc-verify-partitioned --split-input-file | FileCheck %s

// Along `b` the body is partitioned like any other code: each device adds up its part of a row, without the padding of an
// uneven shard, and devices with the same position along `a` add these sums. The collective over `a` does not change.
// CHECK-LABEL: func.func @body
// CHECK-SAME: (%[[X:.*]]: !spmd.array<f32[2, 3]> {spmd.global = !spmd.array<f32[4@a, 5@b]>})
// CHECK: spmd.shard_size 5 over <b>
// CHECK: %[[S:.*]] = array.reduce sum %{{.*}} dims [1] : <f32[2, 3]> -> <f32[2]>
// CHECK: %[[R:.*]] = spmd.all_reduce sum %[[S]] over <b> {why = "reduce sums over a dimension sharded over 'b': each device has a partial sum; the result is f32[2@_]"}
// CHECK: %[[T:.*]] = spmd.all_reduce sum %[[R]] over <a> {why = "'psum' is written here"}
// CHECK: return %[[T]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @body(%x: !spmd.array<f32[4@a, 5@b]>) -> !spmd.array<f32[2@_]> {
    %0 = spmd.manual(%x) over <a> {
    ^bb0(%p: !spmd.array<f32[2@_, 5@b]>):
      %1 = array.reduce sum %p dims [1] : <f32[2@_, 5@b]> -> <f32[2@_]>
      %2 = spmd.all_reduce sum %1 over <a> {why = "'psum' is written here"} : <f32[2@_]> -> <f32[2@_]>
      spmd.yield %2 : !spmd.array<f32[2@_]>
    } : (!spmd.array<f32[4@a, 5@b]>) -> !spmd.array<f32[2@_]>
    return %0 : !spmd.array<f32[2@_]>
  }
}

// -----

// Operands and results are resharded to the shardings of the body and the result, along the axis that is not manual.
// CHECK-LABEL: func.func @border
// CHECK-SAME: (%[[X:.*]]: !spmd.array<f32[2, 6]>
// CHECK: %[[IN:.*]] = spmd.all_slice %[[X]] dim 1 over <b> : <f32[2, 6]> -> <f32[2, 3]>
// CHECK: %[[Y:.*]] = array.sin %[[IN]]
// CHECK: %[[OUT:.*]] = spmd.all_to_all %[[Y]] split 0 concat 1 over <b> {why = "the value that the body of 'shard_map' yields is f32[2@_, 6@b], the local result is f32[2@b, 6@_]"}
// CHECK: return %[[OUT]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @border(%x: !spmd.array<f32[4@a, 6@_]>) -> !spmd.array<f32[4@"(a, b)", 6@_]> {
    %0 = spmd.manual(%x) over <a> {
    ^bb0(%p: !spmd.array<f32[2@_, 6@b]>):
      %1 = array.sin %p : <f32[2@_, 6@b]>
      spmd.yield %1 : !spmd.array<f32[2@_, 6@b]>
    } : (!spmd.array<f32[4@a, 6@_]>) -> !spmd.array<f32[4@"(a, b)", 6@_]>
    return %0 : !spmd.array<f32[4@"(a, b)", 6@_]>
  }
}

// -----

// Groups over `b` take different branches, by their position along `a`: all devices call the inserted collectives.
// CHECK-LABEL: func.func @branch
// CHECK-NOT: array.if
// CHECK: spmd.all_reduce sum %{{.*}} over <b>
// CHECK: array.select
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @branch(%x: !spmd.array<f32[4@a, 6@b]>) -> !spmd.array<f32[4@a]> {
    %0 = spmd.manual(%x) over <a> {
    ^bb0(%p: !spmd.array<f32[2@_, 6@b]>):
      %i = spmd.axis_index <a> : <i32[]>
      %z = array.constant dense<0> : tensor<i32> -> <i32[]>
      %c = array.compare eq %i, %z : <i32[]>, <i32[]> -> <bool[]>
      %1 = array.if %c {
        %2 = array.reduce sum %p dims [1] : <f32[2@_, 6@b]> -> <f32[2@_]>
        array.yield %2 : !spmd.array<f32[2@_]>
      } else {
        %3 = array.constant dense<0.0> : tensor<2xf32> -> <f32[2@_]>
        array.yield %3 : !spmd.array<f32[2@_]>
      } : (!spmd.array<bool[]>) -> !spmd.array<f32[2@_]>
      spmd.yield %1 : !spmd.array<f32[2@_]>
    } : (!spmd.array<f32[4@a, 6@b]>) -> !spmd.array<f32[4@a]>
    return %0 : !spmd.array<f32[4@a]>
  }
}

// -----

// A reduction along a replicated dimension needs no other devices: each group iterates on its own.
// CHECK-LABEL: func.func @loop_alone
// CHECK: array.while
// CHECK-NOT: spmd.all_reduce
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @loop_alone(%x: !spmd.array<f32[4@a, 6@b]>) -> !spmd.array<f32[4@a, 6@b]> {
    %0 = spmd.manual(%x) over <a> {
    ^bb0(%p: !spmd.array<f32[2@_, 6@b]>):
      %i = spmd.axis_index <a> : <i32[]>
      %z = array.constant dense<0> : tensor<i32> -> <i32[]>
      %one = array.constant dense<1> : tensor<i32> -> <i32[]>
      %1:2 = array.while (%i, %p) {
      ^bb0(%k: !spmd.array<i32[]>, %c: !spmd.array<f32[2@_, 6@b]>):
        %2 = array.compare gt %k, %z : <i32[]>, <i32[]> -> <bool[]>
        array.yield %2 : !spmd.array<bool[]>
      } do {
      ^bb0(%k: !spmd.array<i32[]>, %c: !spmd.array<f32[2@_, 6@b]>):
        %3 = array.reduce max %c dims [0] : <f32[2@_, 6@b]> -> <f32[6@b]>
        %4 = array.broadcast_in_dim %3 dims [1] : <f32[6@b]> -> <f32[2@_, 6@b]>
        %5 = array.add %c, %4 : <f32[2@_, 6@b]>
        %6 = array.subtract %k, %one : <i32[]>
        array.yield %6, %5 : !spmd.array<i32[]>, !spmd.array<f32[2@_, 6@b]>
      } : (!spmd.array<i32[]>, !spmd.array<f32[2@_, 6@b]>) -> (!spmd.array<i32[]>, !spmd.array<f32[2@_, 6@b]>)
      spmd.yield %1#1 : !spmd.array<f32[2@_, 6@b]>
    } : (!spmd.array<f32[4@a, 6@b]>) -> !spmd.array<f32[4@a, 6@b]>
    return %0 : !spmd.array<f32[4@a, 6@b]>
  }
}

// -----

// The same along a sharded dimension: all devices iterate until the last one is done.
// CHECK-LABEL: func.func @loop
// CHECK: array.while
// CHECK: spmd.all_reduce or %{{.*}} over <a>
// CHECK: spmd.all_reduce max %{{.*}} over <b>
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @loop(%x: !spmd.array<f32[4@a, 6@b]>) -> !spmd.array<f32[4@a, 6@b]> {
    %0 = spmd.manual(%x) over <a> {
    ^bb0(%p: !spmd.array<f32[2@_, 6@b]>):
      %i = spmd.axis_index <a> : <i32[]>
      %z = array.constant dense<0> : tensor<i32> -> <i32[]>
      %one = array.constant dense<1> : tensor<i32> -> <i32[]>
      %1:2 = array.while (%i, %p) {
      ^bb0(%k: !spmd.array<i32[]>, %c: !spmd.array<f32[2@_, 6@b]>):
        %2 = array.compare gt %k, %z : <i32[]>, <i32[]> -> <bool[]>
        array.yield %2 : !spmd.array<bool[]>
      } do {
      ^bb0(%k: !spmd.array<i32[]>, %c: !spmd.array<f32[2@_, 6@b]>):
        %3 = array.reduce max %c dims [1] : <f32[2@_, 6@b]> -> <f32[2@_]>
        %4 = array.broadcast_in_dim %3 dims [0] : <f32[2@_]> -> <f32[2@_, 6@b]>
        %5 = array.add %c, %4 : <f32[2@_, 6@b]>
        %6 = array.subtract %k, %one : <i32[]>
        array.yield %6, %5 : !spmd.array<i32[]>, !spmd.array<f32[2@_, 6@b]>
      } : (!spmd.array<i32[]>, !spmd.array<f32[2@_, 6@b]>) -> (!spmd.array<i32[]>, !spmd.array<f32[2@_, 6@b]>)
      spmd.yield %1#1 : !spmd.array<f32[2@_, 6@b]>
    } : (!spmd.array<f32[4@a, 6@b]>) -> !spmd.array<f32[4@a, 6@b]>
    return %0 : !spmd.array<f32[4@a, 6@b]>
  }
}

// -----

// An if around operations that need no other devices stays an if.
// CHECK-LABEL: func.func @branch_alone
// CHECK: array.if
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @branch_alone(%x: !spmd.array<f32[4@a, 6@b]>) -> !spmd.array<f32[4@a, 6@b]> {
    %0 = spmd.manual(%x) over <a> {
    ^bb0(%p: !spmd.array<f32[2@_, 6@b]>):
      %i = spmd.axis_index <a> : <i32[]>
      %z = array.constant dense<0> : tensor<i32> -> <i32[]>
      %c = array.compare eq %i, %z : <i32[]>, <i32[]> -> <bool[]>
      %1 = array.if %c {
        %2 = array.sin %p : <f32[2@_, 6@b]>
        array.yield %2 : !spmd.array<f32[2@_, 6@b]>
      } else {
        array.yield %p : !spmd.array<f32[2@_, 6@b]>
      } : (!spmd.array<bool[]>) -> !spmd.array<f32[2@_, 6@b]>
      spmd.yield %1 : !spmd.array<f32[2@_, 6@b]>
    } : (!spmd.array<f32[4@a, 6@b]>) -> !spmd.array<f32[4@a, 6@b]>
    return %0 : !spmd.array<f32[4@a, 6@b]>
  }
}
