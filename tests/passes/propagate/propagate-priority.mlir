// User priorities: annotations of priority 0 reach the whole program before those of priority 1 are seen.
// RUN: spmd-opt %s --spmdc-propagate --spmdc-verify-propagated | FileCheck %s

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {

// Without priorities the two sides of the sum contend, and the first of equals wins.
// CHECK-LABEL: func.func @without_priorities_the_first_wins
// CHECK-SAME: -> !spmd.array<f32[8@a, 8@_]>
func.func @without_priorities_the_first_wins(%x: !spmd.array<f32[8@a, 8@_]>, %y: !spmd.array<f32[8@_, 8@a]>)
    -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8@a, 8@_]>, <f32[8@_, 8@a]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// CHECK-LABEL: func.func @an_annotation_of_lower_priority_comes_later
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 8@_]>, %{{.*}}: !spmd.array<f32[8@_, 8@a]>) -> !spmd.array<f32[8@_, 8@a]>
func.func @an_annotation_of_lower_priority_comes_later(%x: !spmd.array<f32[8@"a!1", 8@_]>,
    %y: !spmd.array<f32[8@_, 8@a]>) -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8@"a!1", 8@_]>, <f32[8@_, 8@a]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// Gaps between priorities are allowed; it is their order that counts.
// CHECK-LABEL: func.func @priorities_may_have_gaps
// CHECK-SAME: -> !spmd.array<f32[8@_, 8@a]>
func.func @priorities_may_have_gaps(%x: !spmd.array<f32[8@"a!7", 8@_]>, %y: !spmd.array<f32[8@_, 8@"a!3"]>)
    -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8@"a!7", 8@_]>, <f32[8@_, 8@"a!3"]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// Annotations of a later priority are not overridden: `b` of priority 0 propagates first, but the axis of %x stays
// reserved, and the result has both in the end.
// CHECK-LABEL: func.func @an_open_annotation_of_lower_priority_is_not_overridden
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[16@"(a, b)"]>, %{{.*}}: !spmd.array<f32[16@b]>)
func.func @an_open_annotation_of_lower_priority_is_not_overridden(%x: !spmd.array<f32[16@"(a, b)?!1"]>,
    %y: !spmd.array<f32[16@b]>) -> !spmd.array<f32[16]> {
  %0 = array.add %x, %y : (<f32[16@"(a, b)?!1"]>, <f32[16@b]>) -> <f32[16]>
  return %0 : !spmd.array<f32[16]>
}

// An axis of a dimension with a later priority is not given to another dimension of the same array.
// CHECK-LABEL: func.func @axes_of_later_priorities_are_kept_free
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@_, 8@a]>,
func.func @axes_of_later_priorities_are_kept_free(%x: !spmd.array<f32[8, 8@"a!1"]>, %y: !spmd.array<f32[8@a, 8]>)
    -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8, 8@"a!1"]>, <f32[8@a, 8]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// Batch parallelism first, then the model's axis: the weights' gradient-like product sees both, in this order.
// CHECK-LABEL: func.func @batch_first_then_model
// CHECK: array.dot_general {{.*}} : <f32[16@a, 32@_]>, <f32[32@_, 64@b]> -> <f32[16@a, 64@b]>
func.func @batch_first_then_model(%x: !spmd.array<f32[16@a, 32]>, %w: !spmd.array<f32[32, 64@"b!1"]>)
    -> !spmd.array<f32[16, 64]> {
  %0 = array.dot_general %x, %w contract [1] x [0] batch [] x [] : <f32[16@a, 32]>, <f32[32, 64@"b!1"]> -> <f32[16, 64]>
  return %0 : !spmd.array<f32[16, 64]>
}
}
