// Element-wise operations, reductions and broadcasts: shardings propagate along corresponding dimensions.
// RUN: spmd-opt %s --spmdc-propagate --spmdc-verify-propagated | FileCheck %s

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {

// CHECK-LABEL: func.func @forward_through_an_elementwise_chain
// CHECK-SAME: -> !spmd.array<f32[8@a, 4@b]>
func.func @forward_through_an_elementwise_chain(%x: !spmd.array<f32[8@a, 4@b]>) -> !spmd.array<f32[8, 4]> {
  // CHECK: array.sin %{{.*}} : <f32[8@a, 4@b]>
  %0 = array.sin %x : (<f32[8@a, 4@b]>) -> <f32[8, 4]>
  // CHECK: array.exp %{{.*}} : <f32[8@a, 4@b]>
  %1 = array.exp %0 : <f32[8, 4]>
  return %1 : !spmd.array<f32[8, 4]>
}

// CHECK-LABEL: func.func @backward_to_an_open_argument
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 4@_]>)
func.func @backward_to_an_open_argument(%x: !spmd.array<f32[8, 4]>) -> !spmd.array<f32[8@a, 4@_]> {
  %0 = array.sin %x : <f32[8, 4]>
  %1 = spmd.constraint %0 : <f32[8, 4]> -> <f32[8@a, 4@_]>
  return %1 : !spmd.array<f32[8@a, 4@_]>
}

// CHECK-LABEL: func.func @operands_complete_one_another
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 4@b]>, %{{.*}}: !spmd.array<f32[8@a, 4@b]>)
// CHECK-SAME: -> !spmd.array<f32[8@a, 4@b]>
func.func @operands_complete_one_another(%x: !spmd.array<f32[8@a, 4]>, %y: !spmd.array<f32[8, 4@b]>)
    -> !spmd.array<f32[8, 4]> {
  %0 = array.add %x, %y : (<f32[8@a, 4]>, <f32[8, 4@b]>) -> <f32[8, 4]>
  return %0 : !spmd.array<f32[8, 4]>
}

// A program without annotations is replicated, with explicit closed shardings.
// CHECK-LABEL: func.func @nothing_written_means_replicated
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@_, 4@_]>) -> !spmd.array<f32[8@_, 4@_]>
func.func @nothing_written_means_replicated(%x: !spmd.array<f32[8, 4]>) -> !spmd.array<f32[8, 4]> {
  %0 = array.sin %x : <f32[8, 4]>
  return %0 : !spmd.array<f32[8, 4]>
}

// CHECK-LABEL: func.func @a_scalar_has_no_sharding
// CHECK-SAME: -> !spmd.array<f32[]>
func.func @a_scalar_has_no_sharding(%x: !spmd.array<f32[8@a]>) -> !spmd.array<f32[]> {
  // CHECK: array.reduce sum %{{.*}} dims [0] : <f32[8@a]> -> <f32[]>
  %0 = array.reduce sum %x dims [0] : <f32[8@a]> -> <f32[]>
  %1 = array.sin %0 : <f32[]>
  return %1 : !spmd.array<f32[]>
}

// CHECK-LABEL: func.func @a_reduction_keeps_the_other_dimensions
// CHECK-SAME: -> !spmd.array<f32[8@a]>
func.func @a_reduction_keeps_the_other_dimensions(%x: !spmd.array<f32[8@a, 4@b]>) -> !spmd.array<f32[8]> {
  %0 = array.reduce max %x dims [1] : <f32[8@a, 4@b]> -> <f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// CHECK-LABEL: func.func @backward_through_a_reduction
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 4@_]>)
func.func @backward_through_a_reduction(%x: !spmd.array<f32[8, 4]>) -> !spmd.array<f32[8@a]> {
  %0 = array.reduce max %x dims [1] : <f32[8, 4]> -> <f32[8]>
  %1 = spmd.constraint %0 : <f32[8]> -> <f32[8@a]>
  return %1 : !spmd.array<f32[8@a]>
}

// Row statistics of a softmax: an array that is broadcast along the columns takes only the axis of the rows.
// CHECK-LABEL: func.func @broadcast_of_row_statistics
func.func @broadcast_of_row_statistics(%x: !spmd.array<f32[8@a, 4@b]>) -> !spmd.array<f32[8, 4]> {
  // CHECK: array.reduce max %{{.*}} : <f32[8@a, 4@b]> -> <f32[8@a]>
  %0 = array.reduce max %x dims [1] : <f32[8@a, 4@b]> -> <f32[8]>
  // CHECK: array.broadcast_in_dim %{{.*}} : <f32[8@a]> -> <f32[8@a, 4@b]>
  %1 = array.broadcast_in_dim %0 dims [0] : <f32[8]> -> <f32[8, 4]>
  // CHECK: array.subtract %{{.*}}, %{{.*}} : <f32[8@a, 4@b]>
  %2 = array.subtract %x, %1 : (<f32[8@a, 4@b]>, <f32[8, 4]>) -> <f32[8, 4]>
  return %2 : !spmd.array<f32[8, 4]>
}

// A broadcast follows its use: the bias takes the axis of the dimension along which it is added.
// CHECK-LABEL: func.func @backward_through_a_broadcast
// CHECK-SAME: %{{.*}}: !spmd.array<f32[4@b]>) ->
func.func @backward_through_a_broadcast(%x: !spmd.array<f32[8@a, 4@b]>, %bias: !spmd.array<f32[4]>)
    -> !spmd.array<f32[8, 4]> {
  %0 = array.broadcast_in_dim %bias dims [1] : <f32[4]> -> <f32[8, 4]>
  %1 = array.add %x, %0 : (<f32[8@a, 4@b]>, <f32[8, 4]>) -> <f32[8, 4]>
  return %1 : !spmd.array<f32[8, 4]>
}

// CHECK-LABEL: func.func @forward_through_a_broadcast_comes_last
// CHECK-SAME: -> !spmd.array<f32[8@_, 4@b]>
func.func @forward_through_a_broadcast_comes_last(%bias: !spmd.array<f32[4@b]>) -> !spmd.array<f32[8, 4]> {
  %0 = array.broadcast_in_dim %bias dims [1] : <f32[4@b]> -> <f32[8, 4]>
  return %0 : !spmd.array<f32[8, 4]>
}

// A dimension of size 1 that is repeated is not connected to the result's dimension.
// CHECK-LABEL: func.func @a_repeated_dimension_is_not_connected
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 1@_]>
func.func @a_repeated_dimension_is_not_connected(%x: !spmd.array<f32[8, 1]>) -> !spmd.array<f32[8@a, 4@b]> {
  %0 = array.broadcast_in_dim %x dims [0, 1] : <f32[8, 1]> -> <f32[8, 4]>
  %1 = spmd.constraint %0 : <f32[8, 4]> -> <f32[8@a, 4@b]>
  return %1 : !spmd.array<f32[8@a, 4@b]>
}

// A size need not divide by its axes.
// CHECK-LABEL: func.func @uneven_dimensions_propagate
// CHECK-SAME: -> !spmd.array<f32[1797@"(a, b)"]>
func.func @uneven_dimensions_propagate(%x: !spmd.array<f32[1797@"(a, b)"]>) -> !spmd.array<f32[1797]> {
  %0 = array.sin %x : (<f32[1797@"(a, b)"]>) -> <f32[1797]>
  return %0 : !spmd.array<f32[1797]>
}

// CHECK-LABEL: func.func @select_takes_the_sharding_of_its_branches
// CHECK-SAME: (%{{.*}}: !spmd.array<bool[8@a]>,
func.func @select_takes_the_sharding_of_its_branches(%p: !spmd.array<bool[8]>, %x: !spmd.array<f32[8@a]>,
    %y: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  %0 = array.select %p, %x, %y : <bool[8]>, <f32[8@a]>, <f32[8]> -> <f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// A dimension along which an operation needs all elements stops its axis, and only that one: it does not pass backward.
// CHECK-LABEL: func.func @a_sort_needs_its_dimension_whole
// CHECK-SAME: (%arg0: !spmd.array<f32[8@a, 4@_]>
func.func @a_sort_needs_its_dimension_whole(%x: !spmd.array<f32[8, 4]>) -> !spmd.array<i32[8@a, 4@b]> {
  %0 = array.argsort %x dim 1 descending = false : <f32[8, 4]> -> <i32[8@a, 4@b]>
  return %0 : !spmd.array<i32[8@a, 4@b]>
}

// A cumulative sum continues from the previous device, so its dimension can be sharded.
// CHECK-LABEL: func.func @a_cumulative_sum_is_cut_along_its_dimension
// CHECK-SAME: -> !spmd.array<f32[8@a, 4@b]>
func.func @a_cumulative_sum_is_cut_along_its_dimension(%x: !spmd.array<f32[8@a, 4@b]>) -> !spmd.array<f32[8, 4]> {
  %0 = array.cumulative sum %x dim 1 : <f32[8@a, 4@b]> -> <f32[8, 4]>
  return %0 : !spmd.array<f32[8, 4]>
}

// Operands of about the result's size take its sharding; an exchange sends elements that another device needs.
// CHECK-LABEL: func.func @concatenate_is_cut_along_the_joined_dimension
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 4@b]>, %{{.*}}: !spmd.array<f32[8@a, 6@b]>) -> !spmd.array<f32[8@a, 10@b]>
func.func @concatenate_is_cut_along_the_joined_dimension(%x: !spmd.array<f32[8@a, 4@b]>, %y: !spmd.array<f32[8, 6]>)
    -> !spmd.array<f32[8, 10]> {
  %0 = array.concatenate %x, %y dim 1 : !spmd.array<f32[8@a, 4@b]>, !spmd.array<f32[8, 6]> -> <f32[8, 10]>
  return %0 : !spmd.array<f32[8, 10]>
}

// CHECK-LABEL: func.func @a_short_slice_stops_the_cut_dimension
// CHECK-SAME: -> !spmd.array<f32[8@a, 1@_]>
func.func @a_short_slice_stops_the_cut_dimension(%x: !spmd.array<f32[8@a, 4@b]>) -> !spmd.array<f32[8, 1]> {
  %0 = array.slice %x [0, 0] to [8, 1] step [1, 1] : <f32[8@a, 4@b]> -> <f32[8, 1]>
  return %0 : !spmd.array<f32[8, 1]>
}

// CHECK-LABEL: func.func @a_slice_of_most_of_a_dimension_is_cut_like_it
// CHECK-SAME: -> !spmd.array<f32[8@a, 3@b]>
func.func @a_slice_of_most_of_a_dimension_is_cut_like_it(%x: !spmd.array<f32[8@a, 4@b]>) -> !spmd.array<f32[8, 3]> {
  %0 = array.slice %x [0, 1] to [8, 4] step [1, 1] : <f32[8@a, 4@b]> -> <f32[8, 3]>
  return %0 : !spmd.array<f32[8, 3]>
}

// CHECK-LABEL: func.func @arguments_that_are_used_nowhere_are_replicated
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@_]>, %{{.*}}: !spmd.array<f32[8@"(a, b)"]>)
func.func @arguments_that_are_used_nowhere_are_replicated(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[8@"(a, b)?"]>) {
  return
}
}
