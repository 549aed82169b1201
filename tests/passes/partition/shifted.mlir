// RUN: spmd-opt %s --split-input-file --spmdc-insert-reshards --spmdc-partition --spmdc-verify-partitioned | FileCheck %s

// Slices and pads of cut dimensions: neighbours send one another what their pieces do not share, nobody the whole.

// CHECK-LABEL: func.func @slice
// CHECK: spmd.exchange %{{.*}} over <a> from !spmd.array<f32[10@a]> to !spmd.array<f32[9@a]> shifted [1] {
// CHECK-SAME: why = "slice takes f32[10@a] to f32[9@a]: devices send one another the elements that their pieces do not share"
// CHECK-SAME: <f32[5]> -> <f32[5]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @slice(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[9@a]> {
    %0 = array.slice %x [1] to [10] step [1] : <f32[10@a]> -> <f32[9@a]>
    return %0 : !spmd.array<f32[9@a]>
  }
}

// -----

// Zeros need no mask; another number does.
// CHECK-LABEL: func.func @pad
// CHECK: %[[MOVED:.*]] = spmd.exchange %{{.*}} shifted [-1]
// CHECK: spmd.shard_start 12 over <a>
// CHECK: array.select %{{.*}}, %[[MOVED]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @pad(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[12@a]> {
    %one = array.constant dense<1.0> : tensor<f32> -> <f32[]>
    %0 = array.pad %x with %one low [1] high [1] interior [0] : <f32[10@a]>, <f32[]> -> <f32[12@a]>
    return %0 : !spmd.array<f32[12@a]>
  }
}

// -----

// -0 is a number that is not the zero which an exchange leaves outside.
// CHECK-LABEL: func.func @pad_with_minus_zero
// CHECK: %[[MOVED:.*]] = spmd.exchange %{{.*}} shifted [-1]
// CHECK: array.select %{{.*}}, %[[MOVED]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @pad_with_minus_zero(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[12@a]> {
    %zero = array.constant dense<-0.0> : tensor<f32> -> <f32[]>
    %0 = array.pad %x with %zero low [1] high [1] interior [0] : <f32[10@a]>, <f32[]> -> <f32[12@a]>
    return %0 : !spmd.array<f32[12@a]>
  }
}

// -----

// +0 needs no mask.
// CHECK-LABEL: func.func @pad_with_zero
// CHECK: spmd.exchange %{{.*}} shifted [-1]
// CHECK-NOT: array.select
// CHECK: return
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @pad_with_zero(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[12@a]> {
    %zero = array.constant dense<0.0> : tensor<f32> -> <f32[]>
    %0 = array.pad %x with %zero low [1] high [1] interior [0] : <f32[10@a]>, <f32[]> -> <f32[12@a]>
    return %0 : !spmd.array<f32[12@a]>
  }
}

// -----

// What each device has already is a local slice.
// CHECK-LABEL: func.func @every_device_has_it
// CHECK-NOT: spmd.exchange
// CHECK: array.slice %{{.*}} [0] to [5] step [1] : <f32[5]> -> <f32[5]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @every_device_has_it(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[9@a]> {
    %0 = array.slice %x [0] to [9] step [1] : <f32[10@a]> -> <f32[9@a]>
    return %0 : !spmd.array<f32[9@a]>
  }
}
