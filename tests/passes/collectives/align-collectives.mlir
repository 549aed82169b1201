// RUN: spmd-opt %s --spmdc-align-collectives | FileCheck %s

// Groups over `a` differ along `b`: both branches run on all devices, and each device selects the results of its own.
// CHECK-LABEL: func.func @branch
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
func.func @branch(%x: !spmd.array<f32[4@a, 4@b]>) -> !spmd.array<f32[4@a, 4@b]> {
  // CHECK: %[[I:.*]] = spmd.axis_index <b>
  // CHECK: %[[P:.*]] = array.compare eq %[[I]]
  // CHECK-NOT: array.if
  // CHECK: %[[S:.*]] = spmd.all_reduce sum %[[X:.*]] over <a>
  // CHECK: %[[M:.*]] = array.broadcast_in_dim %[[P]] dims [] : <bool[]> -> <bool[2, 2]>
  // CHECK: array.select %[[M]], %[[S]], %[[X]]
  %0 = spmd.manual(%x) {
  ^bb0(%p: !spmd.array<f32[2, 2]>):
    %z = array.constant dense<0> : tensor<i32> -> <i32[]>
    %i = spmd.axis_index <b> : <i32[]>
    %c = array.compare eq %i, %z : <i32[]>, <i32[]> -> <bool[]>
    %r = array.if %c {
      %s = spmd.all_reduce sum %p over <a> : <f32[2, 2]> -> <f32[2, 2]>
      array.yield %s : !spmd.array<f32[2, 2]>
    } else {
      array.yield %p : !spmd.array<f32[2, 2]>
    } : (!spmd.array<bool[]>) -> !spmd.array<f32[2, 2]>
    spmd.yield %r : !spmd.array<f32[2, 2]>
  } : (!spmd.array<f32[4@a, 4@b]>) -> !spmd.array<f32[4@a, 4@b]>
  return %0 : !spmd.array<f32[4@a, 4@b]>
}

// All devices iterate until all have left the loop; a device that has left keeps its carries.
// CHECK-LABEL: func.func @loop
func.func @loop(%x: !spmd.array<i32[2@b]>) -> !spmd.array<i32[2@b]> {
  // CHECK: %[[IN:.*]] = array.compare gt
  // CHECK: array.while(%{{.*}}, %[[IN]]) {
  // CHECK: ^bb0(%{{.*}}, %[[INSIDE:.*]]: !spmd.array<bool[]>):
  // CHECK: %[[ANY:.*]] = spmd.all_reduce or %[[INSIDE]] over <b>
  // CHECK: array.yield %[[ANY]]
  // CHECK: ^bb0(%[[K:.*]]: !spmd.array<i32[]>, %[[IN2:.*]]: !spmd.array<bool[]>):
  // CHECK: %[[S:.*]] = spmd.all_reduce sum %[[K]] over <a>
  // CHECK: %[[NEXT:.*]] = array.select %[[IN2]], %{{.*}}, %[[K]]
  // CHECK: %[[C:.*]] = array.compare gt %[[NEXT]]
  // CHECK: %[[STILL:.*]] = array.and %[[IN2]], %[[C]]
  // CHECK: array.yield %[[NEXT]], %[[STILL]]
  %0 = spmd.manual(%x) {
  ^bb0(%p: !spmd.array<i32[1]>):
    %z = array.constant dense<0> : tensor<i32> -> <i32[]>
    %k0 = array.reshape %p : <i32[1]> -> <i32[]>
    %w = array.while (%k0) {
    ^bb0(%k: !spmd.array<i32[]>):
      %q = array.compare gt %k, %z : <i32[]>, <i32[]> -> <bool[]>
      array.yield %q : !spmd.array<bool[]>
    } do {
    ^bb0(%k: !spmd.array<i32[]>):
      %s = spmd.all_reduce sum %k over <a> : <i32[]> -> <i32[]>
      %n = array.subtract %k, %s : <i32[]>
      array.yield %n : !spmd.array<i32[]>
    } : (!spmd.array<i32[]>) -> !spmd.array<i32[]>
    %r = array.reshape %w : <i32[]> -> <i32[1]>
    spmd.yield %r : !spmd.array<i32[1]>
  } : (!spmd.array<i32[2@b]>) -> !spmd.array<i32[2@b]>
  return %0 : !spmd.array<i32[2@b]>
}

// In a branch that runs on all devices, the condition of a loop also tests whether its device takes the branch. Branches
// without a collective do not change.
// CHECK-LABEL: func.func @nested
func.func @nested(%x: !spmd.array<i32[2@b]>) -> (!spmd.array<i32[2@b]>, !spmd.array<i32[2@b]>) {
  // CHECK: %[[P:.*]] = array.compare eq
  // CHECK: spmd.all_reduce sum
  // CHECK: array.while
  // CHECK: %[[GO:.*]] = array.compare gt
  // CHECK: %[[GO2:.*]] = array.and %[[P]], %[[GO]]
  // CHECK: array.yield %[[GO2]]
  // CHECK: array.select %[[P]]
  // CHECK: array.if %[[P]]
  %0:2 = spmd.manual(%x) {
  ^bb0(%p: !spmd.array<i32[1]>):
    %z = array.constant dense<0> : tensor<i32> -> <i32[]>
    %k0 = array.reshape %p : <i32[1]> -> <i32[]>
    %i = spmd.axis_index <b> : <i32[]>
    %c = array.compare eq %i, %z : <i32[]>, <i32[]> -> <bool[]>
    %r = array.if %c {
      %s = spmd.all_reduce sum %k0 over <a> : <i32[]> -> <i32[]>
      %w = array.while (%s) {
      ^bb0(%k: !spmd.array<i32[]>):
        %q = array.compare gt %k, %z : <i32[]>, <i32[]> -> <bool[]>
        array.yield %q : !spmd.array<bool[]>
      } do {
      ^bb0(%k: !spmd.array<i32[]>):
        %n = array.subtract %k, %k0 : <i32[]>
        array.yield %n : !spmd.array<i32[]>
      } : (!spmd.array<i32[]>) -> !spmd.array<i32[]>
      array.yield %w : !spmd.array<i32[]>
    } else {
      array.yield %k0 : !spmd.array<i32[]>
    } : (!spmd.array<bool[]>) -> !spmd.array<i32[]>
    %o = array.if %c {
      array.yield %r : !spmd.array<i32[]>
    } else {
      array.yield %k0 : !spmd.array<i32[]>
    } : (!spmd.array<bool[]>) -> !spmd.array<i32[]>
    %r1 = array.reshape %r : <i32[]> -> <i32[1]>
    %o1 = array.reshape %o : <i32[]> -> <i32[1]>
    spmd.yield %r1, %o1 : !spmd.array<i32[1]>, !spmd.array<i32[1]>
  } : (!spmd.array<i32[2@b]>) -> (!spmd.array<i32[2@b]>, !spmd.array<i32[2@b]>)
  return %0#0, %0#1 : !spmd.array<i32[2@b]>, !spmd.array<i32[2@b]>
}
}
