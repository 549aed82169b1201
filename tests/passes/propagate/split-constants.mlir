// RUN: spmd-opt %s --spmdc-split-constants | FileCheck %s

// Each user gets a copy, with what it is computed from.
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

// Two operands of one operation are one use; what depends on an argument is no constant.
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

// A copy of a sharding group's member would be no member of it.
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
