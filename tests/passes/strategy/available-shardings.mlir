// RUN: spmd-opt %s --split-input-file --spmdc-insert-reshards | FileCheck %s

// All users share the available shardings of a value (passes/strategy/AvailableShardings.h).

// To sort rows, the array is resharded by columns once, for the sort and for the take. The sort's result never has its
// propagated sharding.
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

// A copy made in one branch is available neither in the other branch nor behind the if.
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

// A gathered transpose is the transpose of the gathered array, whichever is needed first.
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

// -----

// Rematerializable values are computed again: the bias is gathered, once for all rows and in front of the loop; its
// splat, the iota and the mask are not gathered.
// CHECK-LABEL: func.func @bias
// CHECK: %[[C:.*]] = spmd.reshard %arg1 {why = "operand 1 of add is f32[2048@_, 2048@b]; the operation runs on f32[2048@_, 2048@_], rematerialized from f32[2048@_]"} : <f32[2048@b]> -> <f32[2048@_]>
// CHECK: %[[ROWS:.*]] = array.broadcast_in_dim %[[C]] dims [1] {{.*}} -> <f32[2048@_, 2048@_]>
// CHECK: array.for
// CHECK: array.add %{{.*}}, %[[ROWS]] : <f32[2048@_, 2048@_]>
// CHECK-NOT: spmd.reshard
module attributes {spmd.mesh = #spmd.mesh<m, b=2>} {
  func.func @bias(%x: !spmd.array<f32[2048@_, 2048@_]>, %c: !spmd.array<f32[2048@b]>) -> !spmd.array<f32[2048@_, 2048@_]> {
    %0 = array.broadcast_in_dim %c dims [1] : <f32[2048@b]> -> <f32[2048@_, 2048@b]>
    %1 = array.for 0 to 10 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %y: !spmd.array<f32[2048@_, 2048@_]>):
      %2 = array.add %y, %0 : (<f32[2048@_, 2048@_]>, <f32[2048@_, 2048@b]>) -> <f32[2048@_, 2048@_]>
      array.yield %2 : !spmd.array<f32[2048@_, 2048@_]>
    } : (!spmd.array<f32[2048@_, 2048@_]>) -> !spmd.array<f32[2048@_, 2048@_]>
    return %1 : !spmd.array<f32[2048@_, 2048@_]>
  }
  // CHECK-LABEL: func.func @mask
  // CHECK-NOT: spmd.reshard
  // CHECK: array.select {{.*}}<f32[64@_, 64@_]>
  // CHECK-NOT: spmd.reshard
  // CHECK: array.yield {{.*}}<f32[64@_, 64@_]>
  // CHECK-NOT: spmd.reshard
  func.func @mask(%x: !spmd.array<f32[64@_, 64@_]>, %p: !spmd.array<bool[]>) -> !spmd.array<f32[64@_, 64@_]> {
    %zero = array.constant dense<0.0> : tensor<64x64xf32> -> <f32[64@b, 64@_]>
    %rows = array.iota dim 0 : <i32[64@b, 64@_]>
    %columns = array.iota dim 1 : <i32[64@b, 64@_]>
    %causal = array.compare ge %rows, %columns : <i32[64@b, 64@_]>, <i32[64@b, 64@_]> -> <bool[64@b, 64@_]>
    %0 = array.select %causal, %x, %zero : <bool[64@b, 64@_]>, <f32[64@_, 64@_]>, <f32[64@b, 64@_]> -> <f32[64@_, 64@_]>
    %1 = array.if %p {
      %2 = array.select %causal, %zero, %0 : <bool[64@b, 64@_]>, <f32[64@b, 64@_]>, <f32[64@_, 64@_]> -> <f32[64@_, 64@_]>
      array.yield %2 : !spmd.array<f32[64@_, 64@_]>
    } else {
      array.yield %zero : !spmd.array<f32[64@b, 64@_]>
    } : (!spmd.array<bool[]>) -> !spmd.array<f32[64@_, 64@_]>
    return %1 : !spmd.array<f32[64@_, 64@_]>
  }
  // Rematerialization saves nothing if the operand has to be gathered itself.
  // CHECK-LABEL: func.func @made_of_more
  // CHECK: spmd.reshard %{{.*}} : <f32[64@_, 64@b]> -> <f32[64@_, 64@_]>
  func.func @made_of_more(%x: !spmd.array<f32[64@_, 64@b]>, %y: !spmd.array<f32[64@_, 64@_]>) -> !spmd.array<f32[64@_, 64@_]> {
    %0 = array.exp %x : <f32[64@_, 64@b]>
    %1 = array.add %y, %0 : (<f32[64@_, 64@_]>, <f32[64@_, 64@b]>) -> <f32[64@_, 64@_]>
    return %1 : !spmd.array<f32[64@_, 64@_]>
  }
  // It saves bytes if the operand is available already, or is smaller than the value, also over several operations.
  // CHECK-LABEL: func.func @there_already
  // CHECK: %[[WHOLE:.*]] = array.exp %arg0 : <f32[64@_, 64@_]>
  // CHECK: array.argsort %[[WHOLE]] dim 1
  func.func @there_already(%x: !spmd.array<f32[64@_, 64@_]>) -> (!spmd.array<f32[64@_, 64@b]>, !spmd.array<i32[64@_, 64@_]>) {
    %0 = array.exp %x : (<f32[64@_, 64@_]>) -> <f32[64@_, 64@b]>
    %1 = array.argsort %0 dim 1 descending = false : <f32[64@_, 64@b]> -> <i32[64@_, 64@_]>
    return %0, %1 : !spmd.array<f32[64@_, 64@b]>, !spmd.array<i32[64@_, 64@_]>
  }
  // CHECK-LABEL: func.func @cast
  // CHECK: %[[WHOLE:.*]] = spmd.reshard %arg0 {why = "operand 1 of dot_general is f32[64@b, 64@_]; the operation runs on f32[64@_, 64@_], rematerialized from f16[64@_, 64@_]"} : <f16[64@b, 64@_]> -> <f16[64@_, 64@_]>
  // CHECK-NOT: spmd.reshard
  // CHECK: %[[WIDE:.*]] = array.convert %[[WHOLE]] : <f16[64@_, 64@_]> -> <f32[64@_, 64@_]>
  // CHECK: %[[HALF:.*]] = array.multiply %[[WIDE]], {{.*}} : <f32[64@_, 64@_]>
  // CHECK: array.dot_general %arg1, %[[HALF]]
  // CHECK-NOT: spmd.reshard
  func.func @cast(%w: !spmd.array<f16[64@b, 64@_]>, %x: !spmd.array<f32[4096@b, 64@_]>) -> !spmd.array<f32[4096@b, 64@_]> {
    %0 = array.convert %w : <f16[64@b, 64@_]> -> <f32[64@b, 64@_]>
    %half = array.constant dense<0.5> : tensor<64x64xf32> -> <f32[64@b, 64@_]>
    %1 = array.multiply %0, %half : <f32[64@b, 64@_]>
    %2 = array.dot_general %x, %1 contract [1] x [0] batch [] x [] : <f32[4096@b, 64@_]>, <f32[64@b, 64@_]> -> <f32[4096@b, 64@_]>
    return %2 : !spmd.array<f32[4096@b, 64@_]>
  }
  // An array and its reshapes are gathered once, whichever is needed first.
  // CHECK-LABEL: func.func @shape_first
  // CHECK: %[[WHOLE:.*]] = spmd.reshard %arg0 {why = "operand 0 of argsort is f32[1@_, 64@b]; the operation runs on f32[1@_, 64@_], as a reshape of f32[64@_]"} : <f32[64@b]> -> <f32[64@_]>
  // CHECK: %[[SHAPE:.*]] = array.reshape %[[WHOLE]] : <f32[64@_]> -> <f32[1@_, 64@_]>
  // CHECK: array.argsort %[[SHAPE]] dim 1
  // CHECK: array.argsort %[[WHOLE]] dim 0
  // CHECK-NOT: spmd.reshard
  func.func @shape_first(%x: !spmd.array<f32[64@b]>) -> (!spmd.array<i32[1@_, 64@_]>, !spmd.array<i32[64@_]>) {
    %0 = array.reshape %x : <f32[64@b]> -> <f32[1@_, 64@b]>
    %1 = array.argsort %0 dim 1 descending = false : <f32[1@_, 64@b]> -> <i32[1@_, 64@_]>
    %2 = array.argsort %x dim 0 descending = false : <f32[64@b]> -> <i32[64@_]>
    return %1, %2 : !spmd.array<i32[1@_, 64@_]>, !spmd.array<i32[64@_]>
  }
  // CHECK-LABEL: func.func @array_first
  // CHECK: %[[WHOLE:.*]] = spmd.reshard %arg0 {{.*}} : <f32[64@b]> -> <f32[64@_]>
  // CHECK: array.argsort %[[WHOLE]] dim 0
  // CHECK: %[[SHAPE:.*]] = array.reshape %[[WHOLE]] : <f32[64@_]> -> <f32[1@_, 64@_]>
  // CHECK: array.argsort %[[SHAPE]] dim 1
  // CHECK-NOT: spmd.reshard
  func.func @array_first(%x: !spmd.array<f32[64@b]>) -> (!spmd.array<i32[64@_]>, !spmd.array<i32[1@_, 64@_]>) {
    %0 = array.argsort %x dim 0 descending = false : <f32[64@b]> -> <i32[64@_]>
    %1 = array.reshape %x : <f32[64@b]> -> <f32[1@_, 64@b]>
    %2 = array.argsort %1 dim 1 descending = false : <f32[1@_, 64@b]> -> <i32[1@_, 64@_]>
    return %0, %2 : !spmd.array<i32[64@_]>, !spmd.array<i32[1@_, 64@_]>
  }
}
