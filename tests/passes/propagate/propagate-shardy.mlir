// Cases from the tests of Shardy's aggressive, op-priority and user-priority propagation, with Shardy's results. SETTLE
// lines are cases in which `settle` shards more than Shardy.
// RUN: spmd-opt %s --spmdc-propagate=strategy=aggressive | FileCheck %s --check-prefixes=CHECK,SHARDY
// RUN: spmd-opt %s --spmdc-propagate | FileCheck %s --check-prefixes=CHECK,SETTLE

module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2, c=2, d=2, e=4>} {

// CHECK-LABEL: func.func @no_conflict
// CHECK-SAME: %{{.*}}: !spmd.array<f32[8@a, 8@b]>, %{{.*}}: !spmd.array<f32[8@b, 16@_]>) -> !spmd.array<f32[8@a, 16@_]>
func.func @no_conflict(%x: !spmd.array<f32[8@a, 8@b]>, %y: !spmd.array<f32[8, 8]>, %w: !spmd.array<f32[8, 16]>)
    -> !spmd.array<f32[8, 16]> {
  %0 = array.add %x, %y : (<f32[8@a, 8@b]>, <f32[8, 8]>) -> <f32[8, 8]>
  %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[8, 8]>, <f32[8, 16]> -> <f32[8, 16]>
  return %1 : !spmd.array<f32[8, 16]>
}

// Rows and columns may both come to `a` on different operands, as long as the result has it once.
// CHECK-LABEL: func.func @rows_and_columns_of_different_operands
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[256@a, 512@_]>, %{{.*}}: !spmd.array<f32[128@a, 512@_]>)
// CHECK: -> <f32[256@_, 128@a]>
func.func @rows_and_columns_of_different_operands(%x: !spmd.array<f32[256@"a?", 512]>, %y: !spmd.array<f32[128, 512]>)
    -> !spmd.array<f32[256, 128@"a?"]> {
  %0 = array.dot_general %x, %y contract [1] x [1] batch [] x [] : <f32[256@"a?", 512]>, <f32[128, 512]>
    -> <f32[256, 128@"a?"]>
  return %0 : !spmd.array<f32[256, 128@"a?"]>
}

// CHECK-LABEL: func.func @contraction_and_free_dimensions_contend_on_operands_only
// CHECK: -> <f32[256@a, 128@"(c, b)"]>
func.func @contraction_and_free_dimensions_contend_on_operands_only(%x: !spmd.array<f32[256@a, 512@"(b, c)"]>,
    %y: !spmd.array<f32[128@"(c, b)", 512@a]>) -> !spmd.array<f32[256, 128]> {
  %0 = array.dot_general %x, %y contract [1] x [1] batch [] x [] : <f32[256@a, 512@"(b, c)"]>,
    <f32[128@"(c, b)", 512@a]> -> <f32[256, 128]>
  return %0 : !spmd.array<f32[256, 128]>
}

// CHECK-LABEL: func.func @closed_dimensions_are_no_conflict
// CHECK: array.add {{.*}} -> <f32[8@a, 8@"(b, c)"]>
func.func @closed_dimensions_are_no_conflict(%x: !spmd.array<f32[8@"a?", 8@b]>,
    %y: !spmd.array<f32[8@_, 8@"(b, c)?"]>) -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8@"a?", 8@b]>, <f32[8@_, 8@"(b, c)?"]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// CHECK-LABEL: func.func @two_axes_on_one_dimension
// SHARDY: array.add {{.*}} -> <f32[8@_, 8@_]>
// SETTLE: array.add {{.*}} -> <f32[8@a, 8@_]>
func.func @two_axes_on_one_dimension(%x: !spmd.array<f32[8@"a?", 8@_]>, %y: !spmd.array<f32[8@"b?", 8@_]>)
    -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8@"a?", 8@_]>, <f32[8@"b?", 8@_]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// Settling tries the finest list first; (a, b, c) cannot be, since `a` is taken, and `b` can.
// CHECK-LABEL: func.func @the_finest_list_is_not_possible
// SHARDY: array.add {{.*}} -> <f32[8@a, 8@_]>
// SETTLE: array.add {{.*}} -> <f32[8@a, 8@b]>
func.func @the_finest_list_is_not_possible(%x: !spmd.array<f32[8@a, 8@b]>, %y: !spmd.array<f32[8@_, 8@"(a, b, c)"]>)
    -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8@a, 8@b]>, <f32[8@_, 8@"(a, b, c)"]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// CHECK-LABEL: func.func @one_dimension_disputed_one_not
// SHARDY: array.add {{.*}} -> <f32[8@_, 8@a]>
// SETTLE: array.add {{.*}} -> <f32[8@b, 8@a]>
func.func @one_dimension_disputed_one_not(%x: !spmd.array<f32[8@"a?", 8]>, %y: !spmd.array<f32[8@"b?", 8@"a?"]>)
    -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8@"a?", 8]>, <f32[8@"b?", 8@"a?"]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// CHECK-LABEL: func.func @the_larger_operand_wins
// CHECK: -> <f32[8@_, 16@"(a, c)"]>
func.func @the_larger_operand_wins(%x: !spmd.array<f32[8@"(a, b)", 4]>, %y: !spmd.array<f32[4, 16@"(a, c)"]>)
    -> !spmd.array<f32[8, 16]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8@"(a, b)", 4]>, <f32[4, 16@"(a, c)"]>
    -> <f32[8, 16]>
  return %0 : !spmd.array<f32[8, 16]>
}

// CHECK-LABEL: func.func @a_conflict_on_one_array_does_not_stop_another
// CHECK-SAME: %{{.*}}: !spmd.array<f32[2@"(a, b)", 4@_, 16@_]>)
func.func @a_conflict_on_one_array_does_not_stop_another(%x: !spmd.array<f32[2@a, 8@b, 4@_]>,
    %y: !spmd.array<f32[2, 4, 16]>) -> !spmd.array<f32[2@"(a, b)", 8@_, 16@_]> {
  %0 = array.dot_general %x, %y contract [2] x [1] batch [0] x [0] : <f32[2@a, 8@b, 4@_]>, <f32[2, 4, 16]>
    -> <f32[2@"(a, b)", 8@_, 16@_]>
  return %0 : !spmd.array<f32[2@"(a, b)", 8@_, 16@_]>
}

// CHECK-LABEL: func.func @several_conflicts_at_once
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[2@d, 8@"(a, b)", 4@_]>, %{{.*}}: !spmd.array<f32[2@_, 4@"(d, c)", 16@"(b, a)"]>)
// CHECK: -> <f32[2@d, 8@_, 16@"(b, a)"]>
func.func @several_conflicts_at_once(%x: !spmd.array<f32[2, 8@"(a, b)", 4]>,
    %y: !spmd.array<f32[2, 4@"(d, c)", 16@"(b, a)"]>) -> !spmd.array<f32[2@d, 8, 16]> {
  %0 = array.dot_general %x, %y contract [2] x [1] batch [0] x [0] : <f32[2, 8@"(a, b)", 4]>,
    <f32[2, 4@"(d, c)", 16@"(b, a)"]> -> <f32[2@d, 8, 16]>
  return %0 : !spmd.array<f32[2@d, 8, 16]>
}

// CHECK-LABEL: func.func @sideways_only_as_far_as_the_result
// CHECK-SAME: %{{.*}}: !spmd.array<f32[8@"e:(1)2"]>)
func.func @sideways_only_as_far_as_the_result(%x: !spmd.array<f32[8@e]>, %y: !spmd.array<f32[8]>)
    -> !spmd.array<f32[8@"e:(1)2"]> {
  %0 = array.add %x, %y : (<f32[8@e]>, <f32[8]>) -> <f32[8@"e:(1)2"]>
  return %0 : !spmd.array<f32[8@"e:(1)2"]>
}

// CHECK-LABEL: func.func @an_axis_of_partial_sums_is_no_obstacle_to_others
// CHECK-SAME: %{{.*}}: !spmd.array<f32[8@b, 16@_]>)
// CHECK: array.dot_general {{.*}} -> <f32[8@a, 16@_] unreduced(b)>
// CHECK: array.add {{.*}} -> <f32[8@a, 16@b]>
func.func @an_axis_of_partial_sums_is_no_obstacle_to_others(%x: !spmd.array<f32[8@a, 8@b]>, %y: !spmd.array<f32[8, 16]>)
    -> !spmd.array<f32[8, 16@b]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8@a, 8@b]>, <f32[8, 16]>
    -> <f32[8, 16] unreduced(b)>
  %1 = array.add %0, %0 : (<f32[8, 16] unreduced(b)>, <f32[8, 16] unreduced(b)>) -> <f32[8, 16@b]>
  return %1 : !spmd.array<f32[8, 16@b]>
}

// CHECK-LABEL: func.func @elementwise_before_products
// CHECK-SAME: %{{.*}}: !spmd.array<f32[8@_, 8@a]>) ->
// CHECK: array.dot_general {{.*}} -> <f32[8@_, 8@a]>
func.func @elementwise_before_products(%x: !spmd.array<f32[8@"a?", 8]>, %y: !spmd.array<f32[8, 8]>)
    -> !spmd.array<f32[8, 8@"a?"]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8@"a?", 8]>, <f32[8, 8]> -> <f32[8, 8]>
  %1 = array.add %0, %0 : <f32[8, 8]>
  %2 = array.add %1, %1 : (<f32[8, 8]>, <f32[8, 8]>) -> <f32[8, 8@"a?"]>
  return %2 : !spmd.array<f32[8, 8@"a?"]>
}

// One reshard of the sine is better than one of each sum.
// CHECK-LABEL: func.func @values_with_several_uses_wait
// CHECK: array.sin {{.*}} : <f32[8@a, 8@_]>
// CHECK: array.add {{.*}} -> <f32[8@_, 8@a]>
// CHECK: array.add {{.*}} -> <f32[8@_, 8@a]>
func.func @values_with_several_uses_wait(%x: !spmd.array<f32[8@a, 8@_]>)
    -> (!spmd.array<f32[8@_, 8@a]>, !spmd.array<f32[8@_, 8@a]>) {
  %0 = array.sin %x : (<f32[8@a, 8@_]>) -> <f32[8, 8]>
  %1 = array.add %0, %0 : <f32[8, 8]>
  %2 = array.add %0, %0 : <f32[8, 8]>
  %3 = array.cos %1 : (<f32[8, 8]>) -> <f32[8@_, 8@a]>
  %4 = array.cos %2 : (<f32[8, 8]>) -> <f32[8@_, 8@a]>
  return %3, %4 : !spmd.array<f32[8@_, 8@a]>, !spmd.array<f32[8@_, 8@a]>
}

// CHECK-LABEL: func.func @one_product_after_another
// CHECK: array.dot_general {{.*}} -> <f32[8@a, 8@_]>
// CHECK: array.dot_general {{.*}} -> <f32[8@_, 8@a]>
func.func @one_product_after_another(%x: !spmd.array<f32[8@"a?", 8]>, %y: !spmd.array<f32[8, 8]>)
    -> !spmd.array<f32[8, 8@"a?"]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8@"a?", 8]>, <f32[8, 8]> -> <f32[8, 8]>
  %1 = array.dot_general %0, %0 contract [1] x [0] batch [] x [] : <f32[8, 8]>, <f32[8, 8]> -> <f32[8, 8]>
  %2 = array.add %1, %1 : <f32[8, 8]>
  %3 = array.add %2, %2 : (<f32[8, 8]>, <f32[8, 8]>) -> <f32[8, 8@"a?"]>
  return %3 : !spmd.array<f32[8, 8@"a?"]>
}

// CHECK-LABEL: func.func @an_argument_of_lower_priority_than_a_result
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 8@b]>, %{{.*}}: !spmd.array<f32[8@c, 8@b]>,
// CHECK-SAME: -> !spmd.array<f32[8@c, 8@b]>
func.func @an_argument_of_lower_priority_than_a_result(%x: !spmd.array<f32[8@"a?!1", 8@"b!1"]>,
    %y: !spmd.array<f32[8, 8]>, %z: !spmd.array<f32[8, 8]>) -> !spmd.array<f32[8@"c!0", 8]> {
  %0 = array.add %x, %y : (<f32[8@"a?!1", 8@"b!1"]>, <f32[8, 8]>) -> <f32[8, 8]>
  %1 = array.divide %0, %z : (<f32[8, 8]>, <f32[8, 8]>) -> <f32[8@"c!0", 8]>
  return %1 : !spmd.array<f32[8@"c!0", 8]>
}

// CHECK-LABEL: func.func @an_argument_of_higher_priority_than_a_result
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 8@b]>, %{{.*}}: !spmd.array<f32[8@a, 8@b]>,
// CHECK-SAME: -> !spmd.array<f32[8@c, 8@b]>
func.func @an_argument_of_higher_priority_than_a_result(%x: !spmd.array<f32[8, 8]>,
    %y: !spmd.array<f32[8@"a!0", 8@"b!0"]>, %z: !spmd.array<f32[8, 8]>) -> !spmd.array<f32[8@"c?!1", 8]> {
  %0 = array.add %x, %y : (<f32[8, 8]>, <f32[8@"a!0", 8@"b!0"]>) -> <f32[8, 8]>
  %1 = array.divide %0, %z : (<f32[8, 8]>, <f32[8, 8]>) -> <f32[8@"c?!1", 8]>
  return %1 : !spmd.array<f32[8@"c?!1", 8]>
}

// %x waits with `b`; the first sum gives it nothing that contradicts it, the second extends it.
// CHECK-LABEL: func.func @a_waiting_dimension_is_extended_by_one_that_agrees
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@"(b, a)", 8@_]>, %{{.*}}: !spmd.array<f32[8@c, 8@_]>, %{{.*}}: !spmd.array<f32[8@"(b, a)", 8@_]>,
func.func @a_waiting_dimension_is_extended_by_one_that_agrees(%x: !spmd.array<f32[8@"b?!1", 8@_]>,
    %y: !spmd.array<f32[8, 8]>, %z: !spmd.array<f32[8, 8]>, %w: !spmd.array<f32[8, 8]>)
    -> (!spmd.array<f32[8@"(b, a)?!0", 8@_]>, !spmd.array<f32[8@"c?!0", 8@_]>) {
  %0 = array.add %x, %y : (<f32[8@"b?!1", 8@_]>, <f32[8, 8]>) -> <f32[8, 8]>
  %1 = array.add %x, %z : (<f32[8@"b?!1", 8@_]>, <f32[8, 8]>) -> <f32[8@"(b, a)?!0", 8@_]>
  %2 = array.divide %0, %w : (<f32[8, 8]>, <f32[8, 8]>) -> <f32[8@"c?!0", 8@_]>
  return %1, %2 : !spmd.array<f32[8@"(b, a)?!0", 8@_]>, !spmd.array<f32[8@"c?!0", 8@_]>
}

// Batch parallelism before ZeRO: the weights wait with `a`, which the product already has on its rows.
// CHECK-LABEL: func.func @batch_before_zero
// CHECK-SAME: %{{.*}}: !spmd.array<f32[8@_, 16@a]>) -> !spmd.array<f32[8@a, 16@_]>
func.func @batch_before_zero(%x: !spmd.array<f32[8@"a!0", 8]>, %y: !spmd.array<f32[8, 8]>,
    %w: !spmd.array<f32[8, 16@"a!1"]>) -> !spmd.array<f32[8, 16]> {
  %0 = array.add %x, %y : (<f32[8@"a!0", 8]>, <f32[8, 8]>) -> <f32[8, 8]>
  %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[8, 8]>, <f32[8, 16@"a!1"]> -> <f32[8, 16]>
  return %1 : !spmd.array<f32[8, 16]>
}

// An open dimension that waits is closed until then: the columns get `c` from elsewhere first.
// CHECK-LABEL: func.func @an_empty_open_dimension_can_wait
// CHECK: array.add {{.*}} : <f32[8@a, 8@b]>
// CHECK: array.add {{.*}} -> <f32[8@a, 8@c]>
// CHECK: array.divide {{.*}} : <f32[8@a, 8@c]>
func.func @an_empty_open_dimension_can_wait(%x: !spmd.array<f32[8@"a!0", 8@"b!0"]>, %y: !spmd.array<f32[8, 8]>,
    %z: !spmd.array<f32[8, 8]>, %w: !spmd.array<f32[8, 8@"c!0"]>) -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8@"a!0", 8@"b!0"]>, <f32[8, 8]>) -> <f32[8, 8@"?!1"]>
  %1 = array.add %0, %z : (<f32[8, 8@"?!1"]>, <f32[8, 8]>) -> <f32[8, 8]>
  %2 = array.divide %1, %w : (<f32[8, 8]>, <f32[8, 8@"c!0"]>) -> <f32[8, 8]>
  return %2 : !spmd.array<f32[8, 8]>
}
}
