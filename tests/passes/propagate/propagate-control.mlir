// RUN: spmd-opt %s --spmdc-propagate --spmdc-verify-propagated --split-input-file | FileCheck %s

// A carry takes the sharding of its initial value; the body and the users of the result follow the carry.
// CHECK-LABEL: func.func @a_carry_follows_its_start
// CHECK: array.for 0 to 4(%arg0)
// CHECK-NEXT: ^bb0(%{{.*}}: !spmd.array<i32[]>, %[[C:.*]]: !spmd.array<f32[8@a, 4@_]>):
// CHECK: array.sin %[[C]] : <f32[8@a, 4@_]>
// CHECK: } : (!spmd.array<f32[8@a, 4@_]>) -> !spmd.array<f32[8@a, 4@_]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @a_carry_follows_its_start(%x: !spmd.array<f32[8@a, 4]>) -> !spmd.array<f32[8, 4]> {
    %0 = array.for 0 to 4 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8, 4]>):
      %1 = array.sin %c : <f32[8, 4]>
      array.yield %1 : !spmd.array<f32[8, 4]>
    } : (!spmd.array<f32[8@a, 4]>) -> !spmd.array<f32[8, 4]>
    return %0 : !spmd.array<f32[8, 4]>
  }
}

// -----

// An annotation on the value that the body yields reaches the carry, and through it the open initial value.
// CHECK-LABEL: func.func @a_carry_follows_what_is_yielded
// CHECK-SAME: (%arg0: !spmd.array<f32[8@b, 4@_]>,
// CHECK: array.while(%arg0)
// CHECK-NEXT: ^bb0(%{{.*}}: !spmd.array<f32[8@b, 4@_]>):
// CHECK: do
// CHECK-NEXT: ^bb0(%{{.*}}: !spmd.array<f32[8@b, 4@_]>):
// CHECK: array.yield %{{.*}} : !spmd.array<f32[8@b, 4@_]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @a_carry_follows_what_is_yielded(%x: !spmd.array<f32[8, 4]>, %p: !spmd.array<bool[]>)
      -> !spmd.array<f32[8, 4]> {
    %0 = array.while (%x) {
    ^bb0(%c: !spmd.array<f32[8, 4]>):
      array.yield %p : !spmd.array<bool[]>
    } do {
    ^bb0(%c: !spmd.array<f32[8, 4]>):
      %1 = array.sin %c : <f32[8, 4]>
      %2 = spmd.constraint %1 : <f32[8, 4]> -> <f32[8@b, 4@_]>
      array.yield %2 : !spmd.array<f32[8@b, 4@_]>
    } : (!spmd.array<f32[8, 4]>) -> !spmd.array<f32[8, 4]>
    return %0 : !spmd.array<f32[8, 4]>
  }
}

// -----

// The values of both branches and the result of a conditional propagate to each other.
// CHECK-LABEL: func.func @arms_follow_the_result
// CHECK-SAME: %arg1: !spmd.array<f32[8@a]>, %arg2: !spmd.array<f32[8@a]>
// CHECK: array.if %arg0
// CHECK: } : (!spmd.array<bool[]>) -> !spmd.array<f32[8@a]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @arms_follow_the_result(%p: !spmd.array<bool[]>, %x: !spmd.array<f32[8]>, %y: !spmd.array<f32[8]>)
      -> !spmd.array<f32[8@a]> {
    %0 = array.if %p {
      array.yield %x : !spmd.array<f32[8]>
    } else {
      %1 = array.negate %y : <f32[8]>
      array.yield %1 : !spmd.array<f32[8]>
    } : (!spmd.array<bool[]>) -> !spmd.array<f32[8]>
    %2 = spmd.constraint %0 : <f32[8]> -> <f32[8@a]>
    return %2 : !spmd.array<f32[8@a]>
  }
}
