// Conflicts: what basic propagation leaves alone, what aggressive propagation decides, what is settled at the end.
// RUN: spmd-opt %s --spmdc-propagate=strategy=basic | FileCheck %s --check-prefixes=CHECK,BASIC
// RUN: spmd-opt %s --spmdc-propagate=strategy=aggressive | FileCheck %s --check-prefixes=CHECK,AGGRESSIVE
// RUN: spmd-opt %s --spmdc-propagate | FileCheck %s --check-prefixes=CHECK,SETTLE
// RUN: spmd-opt %s --spmdc-propagate --debug-only=propagate 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[propagate] {{.*}}add: dimension 0 of operand 1 does not follow dimension 0 of operand 0 over (c, b): it is sharded over (c, d){{$}}

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2, c=2, d=2>} {

// Factor F0 of the table in Shardy's propagation document: T0 = [a], T1 = [a, b], T2 = []. All get [a, b].
// CHECK-LABEL: func.func @compatible_axes_reach_everyone
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[64@"(a, b)"]>, %{{.*}}: !spmd.array<f32[64@"(a, b)"]>)
// CHECK-SAME: -> !spmd.array<f32[64@"(a, b)"]>
func.func @compatible_axes_reach_everyone(%x: !spmd.array<f32[64@"a?"]>, %y: !spmd.array<f32[64@"(a, b)"]>)
    -> !spmd.array<f32[64]> {
  %0 = array.add %x, %y : (<f32[64@"a?"]>, <f32[64@"(a, b)"]>) -> <f32[64]>
  return %0 : !spmd.array<f32[64]>
}

// Factor F1 of that table: [], [c, d], [c, b]: only c is common. Settling lets the open one follow the larger or first.
// CHECK-LABEL: func.func @the_common_prefix_of_two_that_differ
// BASIC-SAME: (%{{.*}}: !spmd.array<f32[64@c]>
// AGGRESSIVE-SAME: (%{{.*}}: !spmd.array<f32[64@c]>
// SETTLE-SAME: (%{{.*}}: !spmd.array<f32[64@"(c, d)"]>
func.func @the_common_prefix_of_two_that_differ(%x: !spmd.array<f32[64]>, %y: !spmd.array<f32[64@"(c, d)"]>)
    -> !spmd.array<f32[64@"(c, b)"]> {
  %0 = array.add %x, %y : (<f32[64]>, <f32[64@"(c, d)"]>) -> <f32[64]>
  %1 = spmd.constraint %0 : <f32[64]> -> <f32[64@"(c, b)"]>
  return %1 : !spmd.array<f32[64@"(c, b)"]>
}

// One axis on two dimensions: both cannot be. Basic propagation gives it to neither; aggressive to the first of equals.
// CHECK-LABEL: func.func @one_axis_on_two_dimensions
// BASIC-SAME: -> !spmd.array<f32[8@_, 8@_]>
// AGGRESSIVE-SAME: -> !spmd.array<f32[8@a, 8@_]>
// SETTLE-SAME: -> !spmd.array<f32[8@a, 8@_]>
func.func @one_axis_on_two_dimensions(%x: !spmd.array<f32[8@a, 8@_]>, %y: !spmd.array<f32[8@_, 8@a]>)
    -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8@a, 8@_]>, <f32[8@_, 8@a]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// More shards save more: (a, b) on the columns wins over a on the rows, though it comes second.
// CHECK-LABEL: func.func @the_larger_saving_wins_among_equal_arrays
// BASIC-SAME: -> !spmd.array<f32[8@_, 8@_]>
// AGGRESSIVE-SAME: -> !spmd.array<f32[8@_, 8@"(a, b)"]>
// SETTLE-SAME: -> !spmd.array<f32[8@_, 8@"(a, b)"]>
func.func @the_larger_saving_wins_among_equal_arrays(%x: !spmd.array<f32[8@a, 8@_]>,
    %y: !spmd.array<f32[8@_, 8@"(a, b)"]>) -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8@a, 8@_]>, <f32[8@_, 8@"(a, b)"]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// One dimension over two axes: no prefix is common. Only settling shards the sum, and then one reshard is enough.
// CHECK-LABEL: func.func @one_dimension_over_two_axes
// BASIC-SAME: -> !spmd.array<f32[8@_]>
// AGGRESSIVE-SAME: -> !spmd.array<f32[8@_]>
// SETTLE-SAME: -> !spmd.array<f32[8@a]>
func.func @one_dimension_over_two_axes(%x: !spmd.array<f32[8@a]>, %y: !spmd.array<f32[8@b]>) -> !spmd.array<f32[8]> {
  %0 = array.add %x, %y : (<f32[8@a]>, <f32[8@b]>) -> <f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// A closed dimension stops basic propagation for the whole factor; aggressive propagation goes around it.
// CHECK-LABEL: func.func @a_closed_operand_does_not_stop_the_others
// BASIC-SAME: %{{.*}}: !spmd.array<f32[8@_]>) -> !spmd.array<f32[8@_]>
// AGGRESSIVE-SAME: %{{.*}}: !spmd.array<f32[8@_]>) -> !spmd.array<f32[8@a]>
// SETTLE-SAME: %{{.*}}: !spmd.array<f32[8@_]>) -> !spmd.array<f32[8@a]>
func.func @a_closed_operand_does_not_stop_the_others(%x: !spmd.array<f32[8@a]>, %y: !spmd.array<f32[8@_]>)
    -> !spmd.array<f32[8]> {
  %0 = array.add %x, %y : (<f32[8@a]>, <f32[8@_]>) -> <f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// Operands get only axes that the result has, too: otherwise %y would be sliced without need.
// CHECK-LABEL: func.func @a_closed_result_stops_the_way_to_the_other_operand
// CHECK-SAME: %{{.*}}: !spmd.array<f32[8@_]>) -> !spmd.array<f32[8@_]>
func.func @a_closed_result_stops_the_way_to_the_other_operand(%x: !spmd.array<f32[8@a]>, %y: !spmd.array<f32[8]>)
    -> !spmd.array<f32[8@_]> {
  %0 = array.add %x, %y : (<f32[8@a]>, <f32[8]>) -> <f32[8]>
  %1 = spmd.constraint %0 : <f32[8]> -> <f32[8@_]>
  return %1 : !spmd.array<f32[8@_]>
}

// The columns of the other operand already use the contraction's axis, so its contraction dimension stays replicated.
// CHECK-LABEL: func.func @the_contraction_cannot_take_an_axis_that_the_columns_use
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@_, 16@a]>, %{{.*}}: !spmd.array<f32[16@_, 4@a]>) -> !spmd.array<f32[8@_, 4@a]>
func.func @the_contraction_cannot_take_an_axis_that_the_columns_use(%x: !spmd.array<f32[8@_, 16@a]>,
    %y: !spmd.array<f32[16, 4@a]>) -> !spmd.array<f32[8@_, 4@a]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8@_, 16@a]>, <f32[16, 4@a]> -> <f32[8, 4]>
  %1 = spmd.constraint %0 : <f32[8, 4]> -> <f32[8@_, 4@a]>
  return %1 : !spmd.array<f32[8@_, 4@a]>
}

// Pass-through operations come first: the product's rows would bring `a` to %1's columns through the transpose, but the
// addition has already brought `b`.
// CHECK-LABEL: func.func @pass_through_operations_come_before_products
// AGGRESSIVE: array.transpose {{.*}} -> <f32[4@_, 8@b]>
// SETTLE: array.transpose {{.*}} -> <f32[4@_, 8@b]>
func.func @pass_through_operations_come_before_products(%x: !spmd.array<f32[8@a, 16@_]>, %y: !spmd.array<f32[16@_, 4@_]>,
    %z: !spmd.array<f32[4@_, 8@b]>) -> !spmd.array<f32[4, 8]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8@a, 16@_]>, <f32[16@_, 4@_]> -> <f32[8, 4]>
  %1 = array.transpose %0 perm [1, 0] : <f32[8, 4]> -> <f32[4, 8]>
  %2 = array.add %1, %z : (<f32[4, 8]>, <f32[4@_, 8@b]>) -> <f32[4, 8]>
  return %2 : !spmd.array<f32[4, 8]>
}

// Partial sums over an axis keep it from every dimension.
// CHECK-LABEL: func.func @an_axis_of_partial_sums_is_taken
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@_] unreduced(a)>) -> !spmd.array<f32[8@a]>
func.func @an_axis_of_partial_sums_is_taken(%x: !spmd.array<f32[8] unreduced(a)>) -> !spmd.array<f32[8@a]> {
  %0 = array.negate %x : (<f32[8] unreduced(a)>) -> <f32[8]>
  %1 = spmd.constraint %0 : <f32[8]> -> <f32[8@a]>
  return %1 : !spmd.array<f32[8@a]>
}
}
