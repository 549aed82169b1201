// RUN: spmd-opt %s --split-input-file --spmdc-known-indices | FileCheck %s

// The last element is followed by the first one.
// CHECK-LABEL: func.func @rolled
// CHECK-NOT: array.take
// CHECK: %[[REST:.*]] = array.slice %arg0 [1] to [512] step [1]
// CHECK: array.slice %arg0 [0] to [1] step [1]
// CHECK: %[[ALL:.*]] = array.concatenate %[[REST]], %{{.*}} dim 0
// CHECK: return %[[ALL]]
module {
  func.func @rolled(%x: !spmd.array<f32[512]>) -> !spmd.array<f32[512]> {
    %at = array.iota dim 0 : <i32[512]>
    %one = array.constant dense<1> : tensor<512xi32> -> <i32[512]>
    %size = array.constant dense<512> : tensor<512xi32> -> <i32[512]>
    %0 = array.add %at, %one : <i32[512]>
    %1 = array.remainder %0, %size : <i32[512]>
    %2 = array.take %x, %1 dim 0 : <f32[512]>, <i32[512]> -> <f32[512]>
    return %2 : !spmd.array<f32[512]>
  }
}

// -----

// Indices that depend on arguments stay, and so do those with many parts.
// CHECK-LABEL: func.func @unknown
// CHECK: array.take %arg0, %arg1
// CHECK: array.take %arg0, %{{.*}} dim 0 : <f32[64]>, <i32[64]>
// CHECK: array.take %arg0, %{{.*}} dim 0 : <f32[64]>, <i32[18]>
module {
  func.func @unknown(%x: !spmd.array<f32[64]>, %i: !spmd.array<i32[64]>) -> (!spmd.array<f32[64]>, !spmd.array<f32[64]>, !spmd.array<f32[18]>) {
    %0 = array.take %x, %i dim 0 : <f32[64]>, <i32[64]> -> <f32[64]>
    %at = array.iota dim 0 : <i32[64]>
    %square = array.multiply %at, %at : <i32[64]>
    %1 = array.take %x, %square dim 0 : <f32[64]>, <i32[64]> -> <f32[64]>
    %any = array.constant dense<[0, 7, 3, 60, 2, 40, 41, 9, 33, 4, 5, 1, 60, 60, 11, 8, 2, 50]> : tensor<18xi32> -> <i32[18]>
    %2 = array.take %x, %any dim 0 : <f32[64]>, <i32[18]> -> <f32[18]>
    return %0, %1, %2 : !spmd.array<f32[64]>, !spmd.array<f32[64]>, !spmd.array<f32[18]>
  }
}

// -----

// Indices out of range are clamped: the first element repeats.
// CHECK-LABEL: func.func @clamped
// CHECK: array.slice %arg0 [0] to [1]
// CHECK: array.broadcast_in_dim
// CHECK: array.slice %arg0 [0] to [5]
// CHECK: array.concatenate
module {
  func.func @clamped(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
    %at = array.iota dim 0 : <i32[8]>
    %three = array.constant dense<3> : tensor<8xi32> -> <i32[8]>
    %0 = array.subtract %at, %three : <i32[8]>
    %1 = array.take %x, %0 dim 0 : <f32[8]>, <i32[8]> -> <f32[8]>
    return %1 : !spmd.array<f32[8]>
  }
}

// -----

// Windows of a signal, three elements at every second position: a slice for each position in a window.
// CHECK-LABEL: func.func @windows
// CHECK-NOT: array.take
// CHECK-COUNT-3: array.slice %arg0
// CHECK: array.concatenate
module {
  func.func @windows(%x: !spmd.array<f32[100]>) -> !spmd.array<f32[40, 3]> {
    %row = array.iota dim 0 : <i32[40, 3]>
    %two = array.constant dense<2> : tensor<40x3xi32> -> <i32[40, 3]>
    %place = array.iota dim 1 : <i32[40, 3]>
    %0 = array.multiply %row, %two : <i32[40, 3]>
    %1 = array.add %0, %place : <i32[40, 3]>
    %2 = array.take %x, %1 dim 0 : <f32[100]>, <i32[40, 3]> -> <f32[40, 3]>
    return %2 : !spmd.array<f32[40, 3]>
  }
}

// -----

// A select whose predicate is known for all elements.
// CHECK-LABEL: func.func @inside
// CHECK: return %arg0
module {
  func.func @inside(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
    %at = array.iota dim 0 : <i32[8]>
    %zero = array.constant dense<0> : tensor<8xi32> -> <i32[8]>
    %0 = array.compare ge %at, %zero : <i32[8]>, <i32[8]> -> <bool[8]>
    %1 = array.select %0, %x, %y : <bool[8]>, <f32[8]>, <f32[8]> -> <f32[8]>
    return %1 : !spmd.array<f32[8]>
  }
}

// -----

// JAX reads the starts of `x.at[1:-1, 2:-1].set(v)` from an array.
// CHECK-LABEL: func.func @starts
// CHECK: %[[ONE:.*]] = array.constant dense<1> : tensor<i32>
// CHECK: array.dynamic_slice %arg0 at(%[[ONE]], %arg2)
// CHECK: %[[AGAIN:.*]] = array.constant dense<1> : tensor<i32>
// CHECK: %[[TWO:.*]] = array.constant dense<2> : tensor<i32>
// CHECK: array.dynamic_update_slice %arg0, %arg1 at(%[[AGAIN]], %[[TWO]])
module {
  func.func @starts(%x: !spmd.array<f32[8, 8]>, %v: !spmd.array<f32[6, 5]>, %i: !spmd.array<i32[]>) -> (!spmd.array<f32[6, 5]>, !spmd.array<f32[8, 8]>) {
    %a = array.constant dense<1> : tensor<1xi32> -> <i32[1]>
    %b = array.constant dense<2> : tensor<1xi32> -> <i32[1]>
    %both = array.concatenate %a, %b dim 0 : !spmd.array<i32[1]>, !spmd.array<i32[1]> -> <i32[2]>
    %0 = array.slice %both [0] to [1] step [1] : <i32[2]> -> <i32[1]>
    %1 = array.reshape %0 : <i32[1]> -> <i32[]>
    %2 = array.slice %both [1] to [2] step [1] : <i32[2]> -> <i32[1]>
    %3 = array.reshape %2 : <i32[1]> -> <i32[]>
    %4 = array.dynamic_slice %x at(%1, %i) sizes [6, 5] : (!spmd.array<f32[8, 8]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[6, 5]>
    %5 = array.dynamic_update_slice %x, %v at(%1, %3) : (!spmd.array<f32[8, 8]>, !spmd.array<f32[6, 5]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[8, 8]>
    return %4, %5 : !spmd.array<f32[6, 5]>, !spmd.array<f32[8, 8]>
  }
}
