// RUN: spmd-opt %s --spmdc-split-constants | FileCheck %s

// Each user gets a copy of the constant expression.
// CHECK-LABEL: func.func @each_user_has_its_own
func.func @each_user_has_its_own(%x: !spmd.array<i32[8]>, %y: !spmd.array<i32[8]>) -> (!spmd.array<i32[8]>, !spmd.array<i32[8]>) {
  // CHECK: %[[I0:.*]] = array.iota
  // CHECK: %[[N0:.*]] = array.negate %[[I0]]
  // CHECK: array.add %arg0, %[[N0]]
  // CHECK: %[[I1:.*]] = array.iota
  // CHECK: %[[N1:.*]] = array.negate %[[I1]]
  // CHECK: array.add %arg1, %[[N1]]
  %i = array.iota dim 0 : <i32[8]>
  %n = array.negate %i : <i32[8]>
  %0 = array.add %x, %n : <i32[8]>
  %1 = array.add %y, %n : <i32[8]>
  return %0, %1 : !spmd.array<i32[8]>, !spmd.array<i32[8]>
}

// Two operands of one operation are one use; an expression of an argument is no constant.
// CHECK-LABEL: func.func @one_user_is_left_alone
func.func @one_user_is_left_alone(%x: !spmd.array<i32[8]>) -> !spmd.array<i32[8]> {
  // CHECK-COUNT-1: array.iota
  // CHECK-NOT: array.iota
  // CHECK-COUNT-1: array.negate
  // CHECK-NOT: array.negate
  %i = array.iota dim 0 : <i32[8]>
  %s = array.add %i, %i : <i32[8]>
  %n = array.negate %x : <i32[8]>
  %0 = array.add %n, %s : <i32[8]>
  %1 = array.add %0, %n : <i32[8]>
  return %1 : !spmd.array<i32[8]>
}

// A copy of a sharding group's member would not be a member.
// CHECK-LABEL: func.func @members_of_groups_stay_shared
func.func @members_of_groups_stay_shared(%x: !spmd.array<i32[8]>) -> !spmd.array<i32[8]> {
  // CHECK-COUNT-1: array.iota
  // CHECK-NOT: array.iota
  %i = array.iota dim 0 : <i32[8]>
  spmd.sharding_group %i group 0 : <i32[8]>
  spmd.sharding_group %x group 0 : <i32[8]>
  %0 = array.add %x, %i : <i32[8]>
  return %0 : !spmd.array<i32[8]>
}

// A scalar connects nothing.
// CHECK-LABEL: func.func @scalars_stay_shared
func.func @scalars_stay_shared(%x: !spmd.array<i32[8]>, %y: !spmd.array<i32[8]>) -> (!spmd.array<i32[8]>, !spmd.array<i32[8]>) {
  // CHECK: %[[C:.*]] = array.constant
  // CHECK-NEXT: %[[B0:.*]] = array.broadcast_in_dim %[[C]]
  // CHECK-NEXT: array.add %arg0, %[[B0]]
  // CHECK-NEXT: %[[B1:.*]] = array.broadcast_in_dim %[[C]]
  // CHECK-NEXT: array.add %arg1, %[[B1]]
  %c = array.constant dense<3> : tensor<i32> -> <i32[]>
  %b = array.broadcast_in_dim %c dims [] : <i32[]> -> <i32[8]>
  %0 = array.add %x, %b : <i32[8]>
  %1 = array.add %y, %b : <i32[8]>
  return %0, %1 : !spmd.array<i32[8]>, !spmd.array<i32[8]>
}

// Neither does a run-time scalar, but its broadcast would: a factor that clips all gradients.
// CHECK-LABEL: func.func @what_repeats_a_scalar_has_one_user
func.func @what_repeats_a_scalar_has_one_user(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[8]>, %s: !spmd.array<f32[]>) -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[]>) {
  // CHECK: %[[E:.*]] = array.exp %arg2
  // CHECK-NEXT: %[[B0:.*]] = array.broadcast_in_dim %[[E]]
  // CHECK-NEXT: array.multiply %arg0, %[[B0]]
  // CHECK-NEXT: %[[B1:.*]] = array.broadcast_in_dim %[[E]]
  // CHECK-NEXT: array.multiply %arg1, %[[B1]]
  // CHECK-NEXT: return
  %e = array.exp %s : <f32[]>
  %b = array.broadcast_in_dim %e dims [] : <f32[]> -> <f32[8]>
  %0 = array.multiply %x, %b : <f32[8]>
  %1 = array.multiply %y, %b : <f32[8]>
  return %0, %1, %e : !spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[]>
}

// An expression that uses each subexpression twice doubles with each step. Small ones are written out as trees, up to
// 32 operations. Larger ones are copied once for each of the two users, and their subexpressions stay shared: 32
// products instead of 64.
// CHECK-LABEL: func.func @large_expressions_are_copied_as_they_are
func.func @large_expressions_are_copied_as_they_are(%x: !spmd.array<i32[8]>, %y: !spmd.array<i32[8]>) -> (!spmd.array<i32[8]>, !spmd.array<i32[8]>) {
  // CHECK-COUNT-32: array.multiply
  // CHECK-NOT: array.multiply
  // CHECK: return
  %i0 = array.iota dim 0 : <i32[8]>
  %n0 = array.negate %i0 : <i32[8]>
  %i1 = array.multiply %i0, %n0 : <i32[8]>
  %n1 = array.negate %i1 : <i32[8]>
  %i2 = array.multiply %i1, %n1 : <i32[8]>
  %n2 = array.negate %i2 : <i32[8]>
  %i3 = array.multiply %i2, %n2 : <i32[8]>
  %n3 = array.negate %i3 : <i32[8]>
  %i4 = array.multiply %i3, %n3 : <i32[8]>
  %n4 = array.negate %i4 : <i32[8]>
  %i5 = array.multiply %i4, %n4 : <i32[8]>
  %0 = array.add %x, %i5 : <i32[8]>
  %1 = array.add %y, %i5 : <i32[8]>
  return %0, %1 : !spmd.array<i32[8]>, !spmd.array<i32[8]>
}
