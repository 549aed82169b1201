// Matrix products: rows, columns, batches and the contraction.
// RUN: spmd-opt %s --spmdc-propagate --spmdc-verify-propagated | FileCheck %s

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {

// The example of the language: rows over a, the contraction over b, and nothing on the result's columns.
// CHECK-LABEL: func.func @rows_reach_the_result_and_the_contraction_does_not
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[4096@a, 2048@b]>, %{{.*}}: !spmd.array<f32[2048@b, 4096@_]>)
// CHECK-SAME: -> !spmd.array<f32[4096@a, 4096@_]>
func.func @rows_reach_the_result_and_the_contraction_does_not(%x: !spmd.array<f32[4096@a, 2048@b]>,
    %y: !spmd.array<f32[2048@b, 4096]>) -> !spmd.array<f32[4096, 4096]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[4096@a, 2048@b]>, <f32[2048@b, 4096]>
    -> <f32[4096, 4096]>
  %zero = array.constant dense<0.0> : tensor<f32> -> <f32[]>
  // CHECK: array.broadcast_in_dim %{{.*}} : <f32[]> -> <f32[4096@a, 4096@_]>
  %zeros = array.broadcast_in_dim %zero dims [] : <f32[]> -> <f32[4096, 4096]>
  // CHECK: array.maximum %{{.*}}, %{{.*}} : <f32[4096@a, 4096@_]>
  %1 = array.maximum %0, %zeros : <f32[4096, 4096]>
  return %1 : !spmd.array<f32[4096, 4096]>
}

// CHECK-LABEL: func.func @the_contraction_goes_from_operand_to_operand
// CHECK-SAME: %{{.*}}: !spmd.array<f32[16@b, 4@_]>) -> !spmd.array<f32[8@_, 4@_]>
func.func @the_contraction_goes_from_operand_to_operand(%x: !spmd.array<f32[8, 16@b]>, %y: !spmd.array<f32[16, 4]>)
    -> !spmd.array<f32[8, 4]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8, 16@b]>, <f32[16, 4]> -> <f32[8, 4]>
  return %0 : !spmd.array<f32[8, 4]>
}

// CHECK-LABEL: func.func @batches_reach_all_three
// CHECK-SAME: %{{.*}}: !spmd.array<f32[2@b, 16@_, 4@_]>) -> !spmd.array<f32[2@b, 8@a, 4@_]>
func.func @batches_reach_all_three(%x: !spmd.array<f32[2@b, 8@a, 16]>, %y: !spmd.array<f32[2, 16, 4]>)
    -> !spmd.array<f32[2, 8, 4]> {
  %0 = array.dot_general %x, %y contract [2] x [1] batch [0] x [0] : <f32[2@b, 8@a, 16]>, <f32[2, 16, 4]>
    -> <f32[2, 8, 4]>
  return %0 : !spmd.array<f32[2, 8, 4]>
}

// The result's rows and columns go back to where they come from.
// CHECK-LABEL: func.func @backward_through_a_product
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 16@_]>, %{{.*}}: !spmd.array<f32[16@_, 4@b]>)
func.func @backward_through_a_product(%x: !spmd.array<f32[8, 16]>, %y: !spmd.array<f32[16, 4]>)
    -> !spmd.array<f32[8@a, 4@b]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8, 16]>, <f32[16, 4]> -> <f32[8, 4]>
  %1 = spmd.constraint %0 : <f32[8, 4]> -> <f32[8@a, 4@b]>
  return %1 : !spmd.array<f32[8@a, 4@b]>
}

// The operands have rows and columns over the same axis: the result can use it once, and follows the larger operand.
// CHECK-LABEL: func.func @rows_and_columns_over_one_axis_follow_the_larger_operand
// CHECK-SAME: -> !spmd.array<f32[8@_, 32@a]>
func.func @rows_and_columns_over_one_axis_follow_the_larger_operand(%x: !spmd.array<f32[8@a, 16@_]>,
    %y: !spmd.array<f32[16@_, 32@a]>) -> !spmd.array<f32[8, 32]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8@a, 16@_]>, <f32[16@_, 32@a]> -> <f32[8, 32]>
  return %0 : !spmd.array<f32[8, 32]>
}

// Megatron's pair of products: columns, then contraction, over the same axis; the activations in between are sharded,
// those outside are not.
// CHECK-LABEL: func.func @two_products_of_a_feed_forward_block
func.func @two_products_of_a_feed_forward_block(%x: !spmd.array<f32[16@a, 32]>, %w1: !spmd.array<f32[32, 64@b]>,
    %w2: !spmd.array<f32[64, 32]>) -> !spmd.array<f32[16, 32]> {
  // CHECK: array.dot_general {{.*}} : <f32[16@a, 32@_]>, <f32[32@_, 64@b]> -> <f32[16@a, 64@b]>
  %0 = array.dot_general %x, %w1 contract [1] x [0] batch [] x [] : <f32[16@a, 32]>, <f32[32, 64@b]> -> <f32[16, 64]>
  %1 = array.tanh %0 : <f32[16, 64]>
  // CHECK: array.dot_general {{.*}} : <f32[16@a, 64@b]>, <f32[64@b, 32@_]> -> <f32[16@a, 32@_]>
  %2 = array.dot_general %1, %w2 contract [1] x [0] batch [] x [] : <f32[16, 64]>, <f32[64, 32]> -> <f32[16, 32]>
  return %2 : !spmd.array<f32[16, 32]>
}

// x @ x: one array in two roles, which may not get one axis twice.
// CHECK-LABEL: func.func @a_product_with_itself
// CHECK-SAME: (%{{.*}}: !spmd.array<f32[8@a, 8@b]>)
func.func @a_product_with_itself(%x: !spmd.array<f32[8, 8]>) -> !spmd.array<f32[8@a, 8@b]> {
  %0 = array.dot_general %x, %x contract [1] x [0] batch [] x [] : <f32[8, 8]>, <f32[8, 8]> -> <f32[8, 8]>
  %1 = spmd.constraint %0 : <f32[8, 8]> -> <f32[8@a, 8@b]>
  return %1 : !spmd.array<f32[8@a, 8@b]>
}

// CHECK-LABEL: func.func @a_transpose_moves_axes_with_their_dimensions
// CHECK-SAME: -> !spmd.array<f32[4@b, 16@_, 8@a]>
func.func @a_transpose_moves_axes_with_their_dimensions(%x: !spmd.array<f32[8@a, 4@b, 16]>)
    -> !spmd.array<f32[4, 16, 8]> {
  %0 = array.transpose %x perm [1, 2, 0] : <f32[8@a, 4@b, 16]> -> <f32[4, 16, 8]>
  return %0 : !spmd.array<f32[4, 16, 8]>
}
}
