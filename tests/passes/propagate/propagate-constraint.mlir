// Constraints, closed and open dimensions, and sharding groups.
// RUN: spmd-opt %s --spmdc-propagate --spmdc-verify-propagated | FileCheck %s

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {

// The product is computed in the constraint's sharding, and the constraint is removed.
// CHECK-LABEL: func.func @a_constraint_on_an_operation_is_obeyed_by_it
// CHECK: %[[H:.*]] = array.dot_general {{.*}} -> <f32[8@b, 4@_]>
// CHECK-NEXT: return %[[H]]
func.func @a_constraint_on_an_operation_is_obeyed_by_it(%x: !spmd.array<f32[8@a, 16]>, %y: !spmd.array<f32[16, 4@b]>)
    -> !spmd.array<f32[8@b, 4@_]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8@a, 16]>, <f32[16, 4@b]> -> <f32[8, 4]>
  %1 = spmd.constraint %0 : <f32[8, 4]> -> <f32[8@b, 4@_]>
  return %1 : !spmd.array<f32[8@b, 4@_]>
}

// CHECK-LABEL: func.func @a_constraint_on_a_closed_argument_is_a_reshard
// CHECK: spmd.reshard %{{.*}} {why = "the annotation asks for f32[8@b]"} : <f32[8@a]> -> <f32[8@b]>
func.func @a_constraint_on_a_closed_argument_is_a_reshard(%x: !spmd.array<f32[8@a]>) -> !spmd.array<f32[8@b]> {
  %0 = spmd.constraint %x : <f32[8@a]> -> <f32[8@b]>
  return %0 : !spmd.array<f32[8@b]>
}

// CHECK-LABEL: func.func @a_constraint_that_changes_nothing_goes
// CHECK-NEXT: return
func.func @a_constraint_that_changes_nothing_goes(%x: !spmd.array<f32[8@a]>) -> !spmd.array<f32[8@a]> {
  %0 = spmd.constraint %x : <f32[8@a]> -> <f32[8@a]>
  return %0 : !spmd.array<f32[8@a]>
}

// Two constraints that differ: the value follows the first, and is resharded for the second.
// CHECK-LABEL: func.func @two_constraints_that_differ
// CHECK: %[[S:.*]] = array.sin {{.*}} : <f32[8@a]>
// CHECK-NEXT: %[[R:.*]] = spmd.reshard %[[S]] {{.*}} : <f32[8@a]> -> <f32[8@b]>
// CHECK-NEXT: return %[[S]], %[[R]] : !spmd.array<f32[8@a]>, !spmd.array<f32[8@b]>
func.func @two_constraints_that_differ(%x: !spmd.array<f32[8]>) -> (!spmd.array<f32[8@a]>, !spmd.array<f32[8@b]>) {
  %0 = array.sin %x : <f32[8]>
  %1 = spmd.constraint %0 : <f32[8]> -> <f32[8@a]>
  %2 = spmd.constraint %0 : <f32[8]> -> <f32[8@b]>
  return %1, %2 : !spmd.array<f32[8@a]>, !spmd.array<f32[8@b]>
}

// CHECK-LABEL: func.func @one_constraint_after_another
// CHECK: %[[S:.*]] = array.sin {{.*}} : <f32[8@a]>
// CHECK: spmd.reshard %[[S]] {{.*}} : <f32[8@a]> -> <f32[8@b]>
func.func @one_constraint_after_another(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8@b]> {
  %0 = array.sin %x : <f32[8]>
  %1 = spmd.constraint %0 : <f32[8]> -> <f32[8@a]>
  %2 = spmd.constraint %1 : <f32[8@a]> -> <f32[8@b]>
  return %2 : !spmd.array<f32[8@b]>
}

// Nothing else uses the sharding between: the argument is resharded to the last one directly, or not at all if it has it.
// CHECK-LABEL: func.func @there_and_back
// CHECK-NEXT: return %arg0
func.func @there_and_back(%x: !spmd.array<f32[8@a, 4@_]>) -> !spmd.array<f32[8@a, 4@_]> {
  %0 = spmd.constraint %x : <f32[8@a, 4@_]> -> <f32[8@_, 4@_]>
  %1 = spmd.constraint %0 : <f32[8@_, 4@_]> -> <f32[8@_, 4@b]>
  %2 = spmd.constraint %1 : <f32[8@_, 4@b]> -> <f32[8@a, 4@_]>
  return %2 : !spmd.array<f32[8@a, 4@_]>
}

// CHECK-LABEL: func.func @straight_to_the_last
// CHECK-NEXT: %[[R:.*]] = spmd.reshard %arg0 {{.*}} : <f32[8@a, 4@_]> -> <f32[8@_, 4@a]>
// CHECK-NEXT: return %[[R]]
func.func @straight_to_the_last(%x: !spmd.array<f32[8@a, 4@_]>) -> !spmd.array<f32[8@_, 4@a]> {
  %0 = spmd.constraint %x : <f32[8@a, 4@_]> -> <f32[8@_, 4@_]>
  %1 = spmd.constraint %0 : <f32[8@_, 4@_]> -> <f32[8@_, 4@a]>
  return %1 : !spmd.array<f32[8@_, 4@a]>
}

// Other operations use the sharding between: the value is materialized in it, and a free slice starts from that.
// CHECK-LABEL: func.func @between_is_used
// CHECK-NEXT: %[[R:.*]] = spmd.reshard %arg0 {{.*}} : <f32[8@a, 4@_]> -> <f32[8@_, 4@_]>
// CHECK-NEXT: %[[S:.*]] = spmd.reshard %[[R]] {{.*}} : <f32[8@_, 4@_]> -> <f32[8@_, 4@a]>
// CHECK-NEXT: return %[[R]], %[[S]], %arg0
func.func @between_is_used(%x: !spmd.array<f32[8@a, 4@_]>) -> (!spmd.array<f32[8@_, 4@_]>, !spmd.array<f32[8@_, 4@a]>, !spmd.array<f32[8@a, 4@_]>) {
  %0 = spmd.constraint %x : <f32[8@a, 4@_]> -> <f32[8@_, 4@_]>
  %1 = spmd.constraint %0 : <f32[8@_, 4@_]> -> <f32[8@_, 4@a]>
  %2 = spmd.constraint %0 : <f32[8@_, 4@_]> -> <f32[8@a, 4@_]>
  return %0, %1, %2 : !spmd.array<f32[8@_, 4@_]>, !spmd.array<f32[8@_, 4@a]>, !spmd.array<f32[8@a, 4@_]>
}

// CHECK-LABEL: func.func @an_open_dimension_of_a_constraint_is_sharded_further
// CHECK-SAME: -> !spmd.array<f32[8@a, 4@b]>
func.func @an_open_dimension_of_a_constraint_is_sharded_further(%x: !spmd.array<f32[8, 4@b]>) -> !spmd.array<f32[8@a, 4]> {
  %0 = array.sin %x : (<f32[8, 4@b]>) -> <f32[8, 4]>
  %1 = spmd.constraint %0 : <f32[8, 4]> -> <f32[8@a, 4]>
  return %1 : !spmd.array<f32[8@a, 4]>
}

// CHECK-LABEL: func.func @a_closed_dimension_never_changes
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@_, 4@_]>) -> !spmd.array<f32[8@a, 4@b]>
// CHECK: array.sin {{.*}} : (<f32[8@_, 4@_]>) -> <f32[8@a, 4@b]>
func.func @a_closed_dimension_never_changes(%x: !spmd.array<f32[8@_, 4@_]>) -> !spmd.array<f32[8@a, 4@b]> {
  %0 = array.sin %x : (<f32[8@_, 4@_]>) -> <f32[8, 4]>
  %1 = spmd.constraint %0 : <f32[8, 4]> -> <f32[8@a, 4@b]>
  return %1 : !spmd.array<f32[8@a, 4@b]>
}

// A sharding on the result of any operation is an annotation, too.
// CHECK-LABEL: func.func @an_annotated_operation_spreads
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a]>) -> !spmd.array<f32[8@a]>
func.func @an_annotated_operation_spreads(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  %0 = array.sin %x : (<f32[8]>) -> <f32[8@a]>
  %1 = array.cos %0 : (<f32[8@a]>) -> <f32[8]>
  return %1 : !spmd.array<f32[8]>
}

// CHECK-LABEL: func.func @a_group_is_sharded_alike
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 4@_]>, %{{.*}}: !spmd.array<f32[8@a, 4@_]>)
// CHECK-NOT: sharding_group
func.func @a_group_is_sharded_alike(%x: !spmd.array<f32[8@a, 4@_]>, %y: !spmd.array<f32[8, 4]>) {
  spmd.sharding_group %x group 0 : <f32[8@a, 4@_]>
  spmd.sharding_group %y group 0 : <f32[8, 4]>
  return
}

// A sharding that reaches one member of a group reaches all, in either direction.
// CHECK-LABEL: func.func @a_group_connects_what_no_operation_does
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@_, 4@b]>, %{{.*}}: !spmd.array<f32[8@_, 4@b]>)
func.func @a_group_connects_what_no_operation_does(%x: !spmd.array<f32[8, 4@b]>, %y: !spmd.array<f32[8, 4]>)
    -> !spmd.array<f32[8, 4]> {
  %0 = array.sin %x : (<f32[8, 4@b]>) -> <f32[8, 4]>
  %1 = array.cos %y : <f32[8, 4]>
  spmd.sharding_group %0 group 3 : <f32[8, 4]>
  spmd.sharding_group %1 group 3 : <f32[8, 4]>
  return %1 : !spmd.array<f32[8, 4]>
}

// Annotations of members are merged: one shards the rows, the other the columns.
// CHECK-LABEL: func.func @annotations_of_a_group_are_joined
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 4@b]>, %{{.*}}: !spmd.array<f32[8@a, 4@b]>)
func.func @annotations_of_a_group_are_joined(%x: !spmd.array<f32[8@a, 4]>, %y: !spmd.array<f32[8, 4@b]>) {
  spmd.sharding_group %x group 0 : <f32[8@a, 4]>
  spmd.sharding_group %y group 0 : <f32[8, 4@b]>
  return
}

// A reshard that is there already stays as it is.
// CHECK-LABEL: func.func @a_reshard_is_left_alone
// CHECK: spmd.reshard %{{.*}} : <f32[8@a]> -> <f32[8@_]>
func.func @a_reshard_is_left_alone(%x: !spmd.array<f32[8@a]>) -> !spmd.array<f32[8@_]> {
  %0 = spmd.reshard %x : <f32[8@a]> -> <f32[8@_]>
  return %0 : !spmd.array<f32[8@_]>
}
}
