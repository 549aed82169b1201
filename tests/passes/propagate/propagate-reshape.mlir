// Reshapes: dimensions that are products of factors, several axes on a dimension, and parts of axes.
// RUN: spmd-opt %s --spmdc-propagate --spmdc-verify-propagated | FileCheck %s

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2, c=3>} {

// The motivation for sub-axes in Shardy's sharding representation: data stays where it is.
// CHECK-LABEL: func.func @splitting_a_dimension_splits_its_axis
// CHECK-SAME: -> !spmd.array<f32[2@"a:(1)2", 4@"a:(2)2"]>
func.func @splitting_a_dimension_splits_its_axis(%x: !spmd.array<f32[8@a]>) -> !spmd.array<f32[2, 4]> {
  %0 = array.reshape %x : <f32[8@a]> -> <f32[2, 4]>
  return %0 : !spmd.array<f32[2, 4]>
}

// CHECK-LABEL: func.func @merging_dimensions_merges_parts_of_an_axis
// CHECK-SAME: -> !spmd.array<f32[8@a]>
func.func @merging_dimensions_merges_parts_of_an_axis(%x: !spmd.array<f32[2@"a:(1)2", 4@"a:(2)2"]>)
    -> !spmd.array<f32[8]> {
  %0 = array.reshape %x : <f32[2@"a:(1)2", 4@"a:(2)2"]> -> <f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// CHECK-LABEL: func.func @there_and_back_again_is_what_it_was
// CHECK-SAME: -> !spmd.array<f32[8@"(a, b)"]>
func.func @there_and_back_again_is_what_it_was(%x: !spmd.array<f32[8@"(a, b)"]>) -> !spmd.array<f32[8]> {
  // CHECK: array.reshape {{.*}} -> <f32[2@"a:(1)2", 4@"(a:(2)2, b)"]>
  %0 = array.reshape %x : <f32[8@"(a, b)"]> -> <f32[2, 4]>
  // CHECK: array.reshape {{.*}} -> <f32[8@"(a, b)"]>
  %1 = array.reshape %0 : <f32[2, 4]> -> <f32[8]>
  return %1 : !spmd.array<f32[8]>
}

// CHECK-LABEL: func.func @the_major_dimension_of_a_merge_keeps_its_axis
// CHECK-SAME: -> !spmd.array<f32[32@a]>
func.func @the_major_dimension_of_a_merge_keeps_its_axis(%x: !spmd.array<f32[8@a, 4]>) -> !spmd.array<f32[32]> {
  %0 = array.reshape %x : <f32[8@a, 4]> -> <f32[32]>
  return %0 : !spmd.array<f32[32]>
}

// If the minor dimension were sharded, devices would own strided elements of the merged one. So the axis moves to the
// major one, if it divides that evenly, or else to another dimension.
// CHECK-LABEL: func.func @the_axis_of_a_minor_dimension_of_a_merge_moves
// CHECK-SAME: -> !spmd.array<f32[32@a]>
func.func @the_axis_of_a_minor_dimension_of_a_merge_moves(%x: !spmd.array<f32[8@_, 4@a]>) -> !spmd.array<f32[32]> {
  %0 = array.reshape %x : <f32[8@_, 4@a]> -> <f32[32]>
  return %0 : !spmd.array<f32[32]>
}

// CHECK-LABEL: func.func @or_elsewhere
// CHECK-SAME: -> !spmd.array<f32[12@_, 8@a]>
func.func @or_elsewhere(%x: !spmd.array<f32[3@_, 4@a, 8]>) -> !spmd.array<f32[12, 8]> {
  %0 = array.reshape %x : <f32[3@_, 4@a, 8]> -> <f32[12, 8]>
  return %0 : !spmd.array<f32[12, 8]>
}

// CHECK-LABEL: func.func @or_nowhere
// CHECK-SAME: -> !spmd.array<f32[12@_]>
func.func @or_nowhere(%x: !spmd.array<f32[3@_, 4@a]>) -> !spmd.array<f32[12]> {
  %0 = array.reshape %x : <f32[3@_, 4@a]> -> <f32[12]>
  return %0 : !spmd.array<f32[12]>
}

// CHECK-LABEL: func.func @both_dimensions_of_a_merge_where_the_major_one_is_cut_to_single_rows
// CHECK-SAME: -> !spmd.array<f32[32@"(a, b)"]>
func.func @both_dimensions_of_a_merge_where_the_major_one_is_cut_to_single_rows(%x: !spmd.array<f32[4@a, 8@b]>)
    -> !spmd.array<f32[32]> {
  %0 = array.reshape %x : <f32[4@a, 8@b]> -> <f32[32]>
  return %0 : !spmd.array<f32[32]>
}

// An axis that is larger than the dimension gives it a part of the axis.
// CHECK-LABEL: func.func @backward_from_a_merge_cuts_the_axis
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[2@"a:(1)2", 6@"a:(2)2"]>)
func.func @backward_from_a_merge_cuts_the_axis(%x: !spmd.array<f32[2, 6]>) -> !spmd.array<f32[12@a]> {
  %0 = array.reshape %x : <f32[2, 6]> -> <f32[12]>
  %1 = spmd.constraint %0 : <f32[12]> -> <f32[12@a]>
  return %1 : !spmd.array<f32[12@a]>
}

// 3 does not divide 2, so no part of c can shard the major factor, and no axis follows it.
// CHECK-LABEL: func.func @an_axis_without_a_common_divisor_stops
// CHECK-SAME: -> !spmd.array<f32[2@_, 6@_]>
func.func @an_axis_without_a_common_divisor_stops(%x: !spmd.array<f32[12@c]>) -> !spmd.array<f32[2, 6]> {
  %0 = array.reshape %x : <f32[12@c]> -> <f32[2, 6]>
  return %0 : !spmd.array<f32[2, 6]>
}

// Uneven shards of a major dimension are runs of elements before and after the reshape.
// CHECK-LABEL: func.func @uneven_shards_pass_a_split
// CHECK-SAME: -> !spmd.array<f32[5@a, 2@_]>
func.func @uneven_shards_pass_a_split(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[5, 2]> {
  %0 = array.reshape %x : <f32[10@a]> -> <f32[5, 2]>
  return %0 : !spmd.array<f32[5, 2]>
}

// CHECK-LABEL: func.func @uneven_shards_pass_a_merge
// CHECK-SAME: -> !spmd.array<f32[20@a]>
func.func @uneven_shards_pass_a_merge(%x: !spmd.array<f32[10@a, 2]>) -> !spmd.array<f32[20]> {
  %0 = array.reshape %x : <f32[10@a, 2]> -> <f32[20]>
  return %0 : !spmd.array<f32[20]>
}

// Backward and forward: the batch of a network is merged with its sequence and split again.
// CHECK-LABEL: func.func @through_a_merge_and_a_split
// CHECK: array.reshape %{{.*}} -> <f32[35@a, 8@_]>
// CHECK: array.reshape %{{.*}} -> <f32[7@a, 5@_, 8@_]>
func.func @through_a_merge_and_a_split(%x: !spmd.array<f32[7@a, 5, 8]>) -> !spmd.array<f32[7, 5, 8]> {
  %0 = array.reshape %x : <f32[7@a, 5, 8]> -> <f32[35, 8]>
  %1 = array.sin %0 : <f32[35, 8]>
  %2 = array.reshape %1 : <f32[35, 8]> -> <f32[7, 5, 8]>
  return %2 : !spmd.array<f32[7, 5, 8]>
}

// Shards over several axes are runs, too, if there are fewer devices than elements of the major dimension.
// CHECK-LABEL: func.func @uneven_shards_over_two_axes_pass_a_split
// CHECK-SAME: -> !spmd.array<f32[25@"(a, b)", 2@_]>
func.func @uneven_shards_over_two_axes_pass_a_split(%x: !spmd.array<f32[50@"(a, b)"]>) -> !spmd.array<f32[25, 2]> {
  %0 = array.reshape %x : <f32[50@"(a, b)"]> -> <f32[25, 2]>
  return %0 : !spmd.array<f32[25, 2]>
}

// CHECK-LABEL: func.func @uneven_shards_over_two_axes_pass_a_merge
// CHECK-SAME: -> !spmd.array<f32[50@"(a, b)"]>
func.func @uneven_shards_over_two_axes_pass_a_merge(%x: !spmd.array<f32[25@"(a, b)", 2]>) -> !spmd.array<f32[50]> {
  %0 = array.reshape %x : <f32[25@"(a, b)", 2]> -> <f32[50]>
  return %0 : !spmd.array<f32[50]>
}

// If the second axis shards another dimension, the first one propagates without it.
// CHECK-LABEL: func.func @an_axis_in_use_ends_the_runs
// CHECK-SAME: -> !spmd.array<f32[25@a, 2@_, 4@b]>
func.func @an_axis_in_use_ends_the_runs(%x: !spmd.array<f32[50@"(a, b)", 4]>) -> !spmd.array<f32[25, 2, 4@b]> {
  %0 = array.reshape %x : <f32[50@"(a, b)", 4]> -> <f32[25, 2, 4@b]>
  return %0 : !spmd.array<f32[25, 2, 4@b]>
}

// Shards of a minor dimension are not runs: padding would be between elements.
// CHECK-LABEL: func.func @uneven_shards_of_a_minor_dim_do_not_pass
// CHECK-SAME: -> !spmd.array<f32[10@_]>
func.func @uneven_shards_of_a_minor_dim_do_not_pass(%x: !spmd.array<f32[2, 5@a]>) -> !spmd.array<f32[10]> {
  %0 = array.reshape %x : <f32[2, 5@a]> -> <f32[10]>
  return %0 : !spmd.array<f32[10]>
}

// A new dimension of size 1 is no obstacle, for uneven shards either.
// CHECK-LABEL: func.func @a_new_dimension_of_size_one_is_no_factor
// CHECK-SAME: -> !spmd.array<f32[1@_, 10@a, 1@_]>
func.func @a_new_dimension_of_size_one_is_no_factor(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[1, 10, 1]> {
  %0 = array.reshape %x : <f32[10@a]> -> <f32[1, 10, 1]>
  return %0 : !spmd.array<f32[1, 10, 1]>
}

// CHECK-LABEL: func.func @several_axes_keep_their_order
// CHECK-SAME: -> !spmd.array<f32[16@_, 24@"(b, c, a)"]>
func.func @several_axes_keep_their_order(%x: !spmd.array<f32[24@"(b, c, a)", 16]>) -> !spmd.array<f32[16, 24]> {
  %0 = array.transpose %x perm [1, 0] : <f32[24@"(b, c, a)", 16]> -> <f32[16, 24]>
  return %0 : !spmd.array<f32[16, 24]>
}

// CHECK-LABEL: func.func @an_open_dimension_is_extended_on_the_minor_side
// CHECK-SAME: %{{.*}}: !spmd.array<f32[24@"(b, a)"]>)
func.func @an_open_dimension_is_extended_on_the_minor_side(%x: !spmd.array<f32[24@"(b, a)"]>,
    %y: !spmd.array<f32[24@"b?"]>) -> !spmd.array<f32[24]> {
  %0 = array.add %x, %y : (<f32[24@"(b, a)"]>, <f32[24@"b?"]>) -> <f32[24]>
  return %0 : !spmd.array<f32[24]>
}

// Two dimensions have parts of one axis: the result takes the list with more devices, and the operand with the minor
// part can still take the major one.
// CHECK-LABEL: func.func @parts_of_one_axis_on_two_dimensions
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@"a:(2)2", 8@"a:(1)2"]>, %{{.*}}: !spmd.array<f32[8@_, 8@a]>)
// CHECK-SAME: -> !spmd.array<f32[8@_, 8@a]>
func.func @parts_of_one_axis_on_two_dimensions(%x: !spmd.array<f32[8@"a:(2)2", 8]>, %y: !spmd.array<f32[8, 8@a]>)
    -> !spmd.array<f32[8, 8]> {
  %0 = array.add %x, %y : (<f32[8@"a:(2)2", 8]>, <f32[8, 8@a]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}
}
