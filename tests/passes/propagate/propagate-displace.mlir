// The axes of a dimension that an operation needs replicated go to another open dimension of its result, or, if no other
// takes them, to the same one.
// RUN: spmd-opt %s --spmdc-propagate | FileCheck %s
// RUN: spmd-opt %s --spmdc-propagate=strategy=aggressive | FileCheck %s --check-prefix=PUBLISHED
// RUN: spmd-opt %s --spmdc-propagate=remarks=true 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=4>} {

// CHECK-LABEL: func.func @to_the_largest
// CHECK: array.argsort {{.*}} -> <i32[8@_, 4@_, 16@"(b, a)"]>
// CHECK: array.negate {{.*}} : <i32[8@_, 4@_, 16@"(b, a)"]>
// PUBLISHED-LABEL: func.func @to_the_largest
// PUBLISHED: array.argsort {{.*}} -> <i32[8@_, 4@_, 16@_]>
// REMARK: argsort: dimension 2 of the result becomes sharded over (b, a), as dimension 0 of the operand is, which the operation needs replicated
func.func @to_the_largest(%x: !spmd.array<f32[8@"(b, a)", 4, 16]>) -> !spmd.array<i32[8, 4, 16]> {
  %0 = array.argsort %x dim 0 descending = false : <f32[8@"(b, a)", 4, 16]> -> <i32[8, 4, 16]>
  %1 = array.negate %0 : <i32[8, 4, 16]>
  return %1 : !spmd.array<i32[8, 4, 16]>
}

// Not to a dimension that they do not divide evenly, that an annotation keeps replicated, or that is already sharded.
// CHECK-LABEL: func.func @not_unevenly
// CHECK: array.argsort {{.*}} -> <i32[8@b, 6@_]>
// PUBLISHED-LABEL: func.func @not_unevenly
// PUBLISHED: array.argsort {{.*}} -> <i32[8@_, 6@_]>
// REMARK: argsort: dimension 0 of the result becomes sharded over b, as dimension 0 of the operand is, which the operation needs replicated
func.func @not_unevenly(%x: !spmd.array<f32[8@b, 6]>) -> !spmd.array<i32[8, 6]> {
  %0 = array.argsort %x dim 0 descending = false : <f32[8@b, 6]> -> <i32[8, 6]>
  return %0 : !spmd.array<i32[8, 6]>
}
// CHECK-LABEL: func.func @not_what_is_closed
// CHECK: array.argsort {{.*}} -> <i32[8@b, 8@_]>
func.func @not_what_is_closed(%x: !spmd.array<f32[8@b, 8]>) -> !spmd.array<i32[8, 8@_]> {
  %0 = array.argsort %x dim 0 descending = false : <f32[8@b, 8]> -> <i32[8, 8@_]>
  return %0 : !spmd.array<i32[8, 8@_]>
}
// CHECK-LABEL: func.func @not_what_is_cut
// CHECK: array.argsort {{.*}} -> <i32[8@b, 8@a]>
func.func @not_what_is_cut(%x: !spmd.array<f32[8@b, 8@a]>) -> !spmd.array<i32[8, 8]> {
  %0 = array.argsort %x dim 0 descending = false : <f32[8@b, 8@a]> -> <i32[8, 8]>
  return %0 : !spmd.array<i32[8, 8]>
}

// The only dimension, whatever its size.
// CHECK-LABEL: func.func @in_place
// CHECK: array.argsort {{.*}} -> <i32[1003@"(b, a)"]>
// CHECK: array.take_along {{.*}} -> <f32[1003@"(b, a)"]>
func.func @in_place(%x: !spmd.array<f32[1003@"(b, a)"]>) -> !spmd.array<f32[1003]> {
  %0 = array.argsort %x dim 0 descending = false : <f32[1003@"(b, a)"]> -> <i32[1003]>
  %1 = array.take_along %x, %0 dim 0 : <f32[1003@"(b, a)"]>, <i32[1003]> -> <f32[1003]>
  return %1 : !spmd.array<f32[1003]>
}
// Not if an annotation keeps the dimension replicated.
// CHECK-LABEL: func.func @asked_for_whole
// CHECK: array.argsort {{.*}} -> <i32[1003@_]>
func.func @asked_for_whole(%x: !spmd.array<f32[1003@b]>) -> !spmd.array<i32[1003@_]> {
  %0 = array.argsort %x dim 0 descending = false : <f32[1003@b]> -> <i32[1003@_]>
  return %0 : !spmd.array<i32[1003@_]>
}
// Not if the result has only a part of the dimension.
// CHECK-LABEL: func.func @part
// CHECK: array.slice {{.*}} -> <f32[3@_]>
func.func @part(%x: !spmd.array<f32[1003@b]>) -> !spmd.array<f32[3]> {
  %0 = array.slice %x [0] to [3] step [1] : <f32[1003@b]> -> <f32[3]>
  return %0 : !spmd.array<f32[3]>
}
}
