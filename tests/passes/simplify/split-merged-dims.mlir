// RUN: spmd-opt %s --spmdc-split-merged-dims | FileCheck %s
// RUN: spmd-opt %s --spmdc-split-merged-dims --spmdc-propagate --spmdc-verify-propagated | FileCheck %s --check-prefix=PROPAGATED

module attributes {spmd.mesh = #spmd.mesh<m, a=8, b=2>} {

// The rows of a product are batch and sequence again, and the axis reaches the result.
// CHECK-LABEL: func.func @product(
// CHECK-NEXT: %[[P:.*]] = array.dot_general %arg0, %arg1 contract [2] x [0] batch [] x [] : <f32[8, 512@a, 64]>, <f32[64, 128]> -> <f32[8, 512, 128]>
// CHECK-NEXT: return %[[P]]
// PROPAGATED-LABEL: func.func @product(
// PROPAGATED: array.dot_general {{.*}} -> <f32[8@_, 512@a, 128@_]>
func.func @product(%x: !spmd.array<f32[8, 512@a, 64]>, %w: !spmd.array<f32[64, 128]>) -> !spmd.array<f32[8, 512, 128]> {
  %0 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[4096, 64]>, <f32[64, 128]> -> <f32[4096, 128]>
  %2 = array.reshape %1 : <f32[4096, 128]> -> <f32[8, 512, 128]>
  return %2 : !spmd.array<f32[8, 512, 128]>
}

// A gradient of the weight contracts both.
// CHECK-LABEL: func.func @contraction(
// CHECK-NEXT: array.dot_general %arg0, %arg1 contract [0, 1] x [0, 1] batch [] x [] : {{.*}} -> <f32[64, 128]>
// CHECK-NEXT: return
func.func @contraction(%x: !spmd.array<f32[8, 512@a, 64]>, %g: !spmd.array<f32[8, 512@a, 128]>) -> !spmd.array<f32[64, 128]> {
  %0 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  %1 = array.reshape %g : <f32[8, 512@a, 128]> -> <f32[4096, 128]>
  %2 = array.dot_general %0, %1 contract [0] x [0] batch [] x [] : <f32[4096, 64]>, <f32[4096, 128]> -> <f32[64, 128]>
  return %2 : !spmd.array<f32[64, 128]>
}

// The axis reaches the operand from the result, too; a parameter keeps its shape.
// CHECK-LABEL: func.func @backward(
// CHECK-NEXT: %[[X:.*]] = array.reshape %arg0 : <f32[4096, 64]> -> <f32[8, 512, 64]>
// CHECK-NEXT: %[[T:.*]] = array.tanh %[[X]] : <f32[8, 512, 64]>
// CHECK-NEXT: spmd.constraint %[[T]] : <f32[8, 512, 64]> -> <f32[8, 512@a, 64]>
func.func @backward(%x: !spmd.array<f32[4096, 64]>) -> !spmd.array<f32[8, 512@a, 64]> {
  %0 = array.tanh %x : <f32[4096, 64]>
  %1 = array.reshape %0 : <f32[4096, 64]> -> <f32[8, 512, 64]>
  %2 = spmd.constraint %1 : <f32[8, 512, 64]> -> <f32[8, 512@a, 64]>
  return %2 : !spmd.array<f32[8, 512@a, 64]>
}

// Operations over other dimensions.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: array.reshape
// CHECK: array.reduce max %arg0 dims [2] : <f32[8, 512@a, 64]> -> <f32[8, 512]>
// CHECK: array.broadcast_in_dim %{{.*}} dims [0, 1] : <f32[8, 512]> -> <f32[8, 512, 64]>
// CHECK: array.slice %{{.*}} [0, 0, 1] to [8, 512, 9] step [1, 1, 1]
// CHECK: array.pad {{.*}} low [0, 0, 2] high [0, 0, 0] interior [0, 0, 0]
// CHECK: array.concatenate {{.*}} dim 2
// CHECK: array.reverse {{.*}} dims [2]
// CHECK: array.transpose {{.*}} perm [2, 0, 1] : <f32[8, 512, 18]> -> <f32[18, 8, 512]>
// CHECK: array.argsort {{.*}} dim 0 descending = false : <f32[18, 8, 512]>
// CHECK: array.arg_reduce {{.*}} dim 0 : <i32[18, 8, 512]> -> <i32[8, 512]>
// CHECK: return
func.func @others(%x: !spmd.array<f32[8, 512@a, 64]>, %v: !spmd.array<f32[]>) -> !spmd.array<i32[8, 512]> {
  %0 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  %1 = array.reduce max %0 dims [1] : <f32[4096, 64]> -> <f32[4096]>
  %2 = array.broadcast_in_dim %1 dims [0] : <f32[4096]> -> <f32[4096, 64]>
  %3 = array.subtract %0, %2 : <f32[4096, 64]>
  %4 = array.slice %3 [0, 1] to [4096, 9] step [1, 1] : <f32[4096, 64]> -> <f32[4096, 8]>
  %5 = array.pad %4 with %v low [0, 2] high [0, 0] interior [0, 0] : <f32[4096, 8]>, <f32[]> -> <f32[4096, 10]>
  %6 = array.concatenate %4, %5 dim 1 : !spmd.array<f32[4096, 8]>, !spmd.array<f32[4096, 10]> -> <f32[4096, 18]>
  %7 = array.reverse %6 dims [1] : <f32[4096, 18]> -> <f32[4096, 18]>
  %8 = array.transpose %7 perm [1, 0] : <f32[4096, 18]> -> <f32[18, 4096]>
  %9 = array.argsort %8 dim 0 descending = false : <f32[18, 4096]> -> <i32[18, 4096]>
  %10 = array.arg_reduce %9 max = true dim 0 : <i32[18, 4096]> -> <i32[4096]>
  %11 = array.reshape %10 : <i32[4096]> -> <i32[8, 512]>
  return %11 : !spmd.array<i32[8, 512]>
}

// Positions along the dimension are counted along its parts, and constants have another shape.
// CHECK-LABEL: func.func @positions(
// CHECK: %[[MAJOR:.*]] = array.iota dim 0 : <i32[2, 4]>
// CHECK: %[[ROWS:.*]] = array.constant dense<4> : tensor<2x4xi32> -> <i32[2, 4]>
// CHECK: %[[TIMES:.*]] = array.multiply %[[MAJOR]], %[[ROWS]]
// CHECK: %[[MINOR:.*]] = array.iota dim 1 : <i32[2, 4]>
// CHECK: %[[AT:.*]] = array.add %[[TIMES]], %[[MINOR]]
// CHECK: array.convert %[[AT]] : <i32[2, 4]> -> <f32[2, 4]>
// CHECK: array.constant dense<{{\[}}[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00], [4.000000e+00,
// CHECK-NOT: array.reshape
// CHECK: return
func.func @positions(%x: !spmd.array<f32[2, 4@b]>) -> !spmd.array<f32[2, 4]> {
  %0 = array.reshape %x : <f32[2, 4@b]> -> <f32[8]>
  %1 = array.iota dim 0 : <f32[8]>
  %2 = array.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32> -> <f32[8]>
  %3 = array.add %0, %1 : <f32[8]>
  %4 = array.multiply %3, %2 : <f32[8]>
  %5 = array.reshape %4 : <f32[8]> -> <f32[2, 4]>
  return %5 : !spmd.array<f32[2, 4]>
}

// Indices of a lookup and of a scatter, and their rows.
// CHECK-LABEL: func.func @lookups(
// CHECK-NOT: array.reshape
// CHECK: %[[E:.*]] = array.take %arg0, %arg1 dim 0 : <f32[100, 64]>, <i32[8, 512@a]> -> <f32[8, 512, 64]>
// CHECK: array.scatter_add %arg0, %arg1, %[[E]] dim 0 : <f32[100, 64]>, <i32[8, 512@a]>, <f32[8, 512, 64]> -> <f32[100, 64]>
func.func @lookups(%e: !spmd.array<f32[100, 64]>, %i: !spmd.array<i32[8, 512@a]>) -> !spmd.array<f32[100, 64]> {
  %0 = array.reshape %i : <i32[8, 512@a]> -> <i32[4096]>
  %1 = array.take %e, %0 dim 0 : <f32[100, 64]>, <i32[4096]> -> <f32[4096, 64]>
  %2 = array.scatter_add %e, %0, %1 dim 0 : <f32[100, 64]>, <i32[4096]>, <f32[4096, 64]> -> <f32[100, 64]>
  return %2 : !spmd.array<f32[100, 64]>
}

// Windows along other dimensions.
// CHECK-LABEL: func.func @windows(
// CHECK-NOT: array.reshape
// CHECK: array.dynamic_slice %arg0 at(%arg1, %arg1, %arg1) sizes [8, 512, 4]
// CHECK: array.dynamic_update_slice %arg0, %{{.*}} at(%arg1, %arg1, %arg1)
// CHECK: return
func.func @windows(%x: !spmd.array<f32[8, 512@a, 64]>, %i: !spmd.array<i32[]>) -> !spmd.array<f32[8, 512, 64]> {
  %0 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  %1 = array.dynamic_slice %0 at(%i, %i) sizes [4096, 4] : (!spmd.array<f32[4096, 64]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[4096, 4]>
  %2 = array.dynamic_update_slice %0, %1 at(%i, %i) : (!spmd.array<f32[4096, 64]>, !spmd.array<f32[4096, 4]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[4096, 64]>
  %3 = array.reshape %2 : <f32[4096, 64]> -> <f32[8, 512, 64]>
  return %3 : !spmd.array<f32[8, 512, 64]>
}

// An einsum before its order is chosen: a label for each part.
// CHECK-LABEL: func.func @einsum(
// CHECK-NEXT: array.einsum %arg0, %arg1, %arg2 labels {{\[}}[0, 3, 1], [1, 2], [0, 3, 2]] -> [2] : !spmd.array<f32[8, 512@a, 64]>, !spmd.array<f32[64, 16]>, !spmd.array<f32[8, 512@a, 16]> -> <f32[16]>
func.func @einsum(%x: !spmd.array<f32[8, 512@a, 64]>, %w: !spmd.array<f32[64, 16]>, %y: !spmd.array<f32[8, 512@a, 16]>) -> !spmd.array<f32[16]> {
  %0 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  %1 = array.reshape %y : <f32[8, 512@a, 16]> -> <f32[4096, 16]>
  %2 = array.einsum %0, %w, %1 labels [[0, 1], [1, 2], [0, 2]] -> [2] : !spmd.array<f32[4096, 64]>, !spmd.array<f32[64, 16]>, !spmd.array<f32[4096, 16]> -> <f32[16]>
  return %2 : !spmd.array<f32[16]>
}

// Loops carry the parts, and branches yield them.
// CHECK-LABEL: func.func @flow(
// CHECK-NEXT: %{{.*}} = array.for 0 to 4(%arg0)
// CHECK: ^bb0(%{{.*}}: !spmd.array<i32[]>, %[[C:.*]]: !spmd.array<f32[8, 512, 64]>)
// CHECK: array.tanh %[[C]] : <f32[8, 512, 64]>
// CHECK: array.if %arg1 {
// CHECK: -> !spmd.array<f32[8, 512, 64]>
// CHECK-NOT: array.reshape
// CHECK: return
func.func @flow(%x: !spmd.array<f32[8, 512@a, 64]>, %p: !spmd.array<bool[]>) -> !spmd.array<f32[8, 512, 64]> {
  %0 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  %1 = array.for 0 to 4 (%0) {
  ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[4096, 64]>):
    %4 = array.tanh %c : <f32[4096, 64]>
    array.yield %4 : !spmd.array<f32[4096, 64]>
  } : (!spmd.array<f32[4096, 64]>) -> !spmd.array<f32[4096, 64]>
  %2 = array.if %p {
    array.yield %1 : !spmd.array<f32[4096, 64]>
  } else {
    %5 = array.negate %1 : <f32[4096, 64]>
    array.yield %5 : !spmd.array<f32[4096, 64]>
  } : (!spmd.array<bool[]>) -> !spmd.array<f32[4096, 64]>
  %3 = array.reshape %2 : <f32[4096, 64]> -> <f32[8, 512, 64]>
  return %3 : !spmd.array<f32[8, 512, 64]>
}

// The pass follows the axis to the next merge, which propagation would reach only after the first split.
// CHECK-LABEL: func.func @layers(
// CHECK-NOT: array.reshape
// CHECK: return
func.func @layers(%x: !spmd.array<f32[8, 512@a, 64]>, %w: !spmd.array<f32[64, 64]>) -> !spmd.array<f32[8, 512, 64]> {
  %0 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[4096, 64]>, <f32[64, 64]> -> <f32[4096, 64]>
  %2 = array.reshape %1 : <f32[4096, 64]> -> <f32[8, 512, 64]>
  %3 = array.tanh %2 : <f32[8, 512, 64]>
  %4 = array.reshape %3 : <f32[8, 512, 64]> -> <f32[4096, 64]>
  %5 = array.dot_general %4, %w contract [1] x [0] batch [] x [] : <f32[4096, 64]>, <f32[64, 64]> -> <f32[4096, 64]>
  %6 = array.reshape %5 : <f32[4096, 64]> -> <f32[8, 512, 64]>
  return %6 : !spmd.array<f32[8, 512, 64]>
}

// Two merged dimensions of one array.
// CHECK-LABEL: func.func @two(
// CHECK-NEXT: %[[W:.*]] = array.reshape %arg1 : <f32[512, 64]> -> <f32[16, 32, 64]>
// CHECK-NEXT: array.dot_general %arg0, %[[W]] contract [2, 3] x [0, 1] batch [] x [] : <f32[8, 512@a, 16, 32@b]>, <f32[16, 32, 64]> -> <f32[8, 512, 64]>
func.func @two(%x: !spmd.array<f32[8, 512@a, 16, 32@b]>, %w: !spmd.array<f32[512, 64]>) -> !spmd.array<f32[8, 512, 64]> {
  %0 = array.reshape %x : <f32[8, 512@a, 16, 32@b]> -> <f32[4096, 512]>
  %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[4096, 512]>, <f32[512, 64]> -> <f32[4096, 64]>
  %2 = array.reshape %1 : <f32[4096, 64]> -> <f32[8, 512, 64]>
  return %2 : !spmd.array<f32[8, 512, 64]>
}

// An operation along the dimension gets the merged dimension, and so does a result.
// CHECK-LABEL: func.func @border(
// CHECK-NEXT: %[[T:.*]] = array.tanh %arg0
// CHECK-NEXT: %[[M:.*]] = array.reshape %[[T]] : <f32[8, 512, 64]> -> <f32[4096, 64]>
// CHECK-NEXT: array.argsort %[[M]] dim 0
// CHECK-NEXT: return %{{.*}}, %[[M]]
func.func @border(%x: !spmd.array<f32[8, 512@a, 64]>) -> (!spmd.array<i32[4096, 64]>, !spmd.array<f32[4096, 64]>) {
  %0 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  %1 = array.tanh %0 : <f32[4096, 64]>
  %2 = array.argsort %1 dim 0 descending = false : <f32[4096, 64]> -> <i32[4096, 64]>
  return %2, %1 : !spmd.array<i32[4096, 64]>, !spmd.array<f32[4096, 64]>
}

// An annotation of the merged dimension is kept, and so is a sharding group; other dimensions keep their annotations.
// CHECK-LABEL: func.func @written(
// CHECK: array.reshape %arg0 : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
// CHECK: spmd.constraint %{{.*}} : <f32[4096, 64]> -> <f32[4096@a, 64]>
// CHECK: %[[G:.*]] = array.reshape %arg0 : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
// CHECK: spmd.sharding_group %[[G]] group 0
// CHECK: %[[T:.*]] = array.tanh %arg0
// CHECK: spmd.constraint %[[T]] : <f32[8, 512, 64]> -> <f32[8, 512, 64@b]>
func.func @written(%x: !spmd.array<f32[8, 512@a, 64]>, %y: !spmd.array<f32[4096, 64]>) -> (!spmd.array<f32[4096, 64]>, !spmd.array<f32[4096, 64]>, !spmd.array<f32[8, 512, 64@b]>) {
  %0 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  %1 = spmd.constraint %0 : <f32[4096, 64]> -> <f32[4096@a, 64]>
  %2 = array.tanh %1 : (<f32[4096@a, 64]>) -> <f32[4096, 64]>
  %3 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  spmd.sharding_group %3 group 0 : <f32[4096, 64]>
  spmd.sharding_group %y group 0 : <f32[4096, 64]>
  %4 = array.negate %3 : <f32[4096, 64]>
  %5 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  %6 = array.tanh %5 : <f32[4096, 64]>
  %7 = spmd.constraint %6 : <f32[4096, 64]> -> <f32[4096, 64@b]>
  %8 = array.negate %7 : (<f32[4096, 64@b]>) -> <f32[4096, 64]>
  %9 = array.reshape %8 : <f32[4096, 64]> -> <f32[8, 512, 64]>
  %10 = spmd.constraint %9 : <f32[8, 512, 64]> -> <f32[8, 512, 64@b]>
  return %2, %4, %10 : !spmd.array<f32[4096, 64]>, !spmd.array<f32[4096, 64]>, !spmd.array<f32[8, 512, 64@b]>
}

// A result keeps the annotations of its other dimensions.
// CHECK-LABEL: func.func @written_result(
// CHECK: %[[C:.*]] = spmd.constraint %{{.*}} : <f32[8, 512, 64]> -> <f32[8, 512, 64@_]>
// CHECK-NEXT: %[[R:.*]] = array.reshape %[[C]] : <f32[8, 512, 64@_]> -> <f32[4096, 64@_]>
// CHECK-NEXT: return %[[R]]
func.func @written_result(%x: !spmd.array<f32[8, 512@a, 64]>) -> !spmd.array<f32[4096, 64@_]> {
  %0 = array.reshape %x : <f32[8, 512@a, 64]> -> <f32[4096, 64]>
  %1 = array.tanh %0 : <f32[4096, 64]>
  %2 = spmd.constraint %1 : <f32[4096, 64]> -> <f32[4096, 64@_]>
  return %2 : !spmd.array<f32[4096, 64@_]>
}

// Nothing changes if only the major dimension is sharded, or none.
// CHECK-LABEL: func.func @major(
// CHECK: array.reshape %arg0 : <f32[8@a, 512, 64]> -> <f32[4096, 64]>
// CHECK: array.tanh %{{.*}} : <f32[4096, 64]>
// CHECK: array.reshape %arg1 : <f32[8, 512, 64]> -> <f32[4096, 64]>
// CHECK: array.tanh %{{.*}} : <f32[4096, 64]>
func.func @major(%x: !spmd.array<f32[8@a, 512, 64]>, %y: !spmd.array<f32[8, 512, 64]>) -> (!spmd.array<f32[8, 512, 64]>, !spmd.array<f32[8, 512, 64]>) {
  %0 = array.reshape %x : <f32[8@a, 512, 64]> -> <f32[4096, 64]>
  %1 = array.tanh %0 : <f32[4096, 64]>
  %2 = array.reshape %1 : <f32[4096, 64]> -> <f32[8, 512, 64]>
  %3 = array.reshape %y : <f32[8, 512, 64]> -> <f32[4096, 64]>
  %4 = array.tanh %3 : <f32[4096, 64]>
  %5 = array.reshape %4 : <f32[4096, 64]> -> <f32[8, 512, 64]>
  return %2, %5 : !spmd.array<f32[8, 512, 64]>, !spmd.array<f32[8, 512, 64]>
}

}
