// RUN: spmd-opt %s --spmdc-lower-library-calls --split-input-file | FileCheck %s
// RUN: spmd-opt %s --spmdc-lower-library-calls=ranges --split-input-file | FileCheck %s --check-prefix=RANGES

// Dimensions before the indexed one are outer, those after it inner; the indices are one list.
// CHECK-LABEL: func.func @scatter
// CHECK-NEXT: plan.library "scatter_add"(%arg0, %arg1, %arg2) sizes [8, 6, 12, 5]
func.func @scatter(%x: !spmd.array<f32[8, 6, 5]>, %i: !spmd.array<i32[3, 4]>, %u: !spmd.array<f32[8, 3, 4, 5]>)
    -> !spmd.array<f32[8, 6, 5]> {
  %0 = array.scatter_add %x, %i, %u dim 1 : <f32[8, 6, 5]>, <i32[3, 4]>, <f32[8, 3, 4, 5]> -> <f32[8, 6, 5]>
  return %0 : !spmd.array<f32[8, 6, 5]>
}

// -----

// CHECK-LABEL: func.func @scatter_along
// CHECK-NEXT: plan.library "scatter_add_along"(%arg0, %arg1, %arg2) sizes [1, 8, 3, 6]
func.func @scatter_along(%x: !spmd.array<f32[8, 6]>, %i: !spmd.array<i32[3, 6]>, %u: !spmd.array<f32[3, 6]>)
    -> !spmd.array<f32[8, 6]> {
  %0 = array.scatter_add_along %x, %i, %u dim 0 : <f32[8, 6]>, <i32[3, 6]>, <f32[3, 6]> -> <f32[8, 6]>
  return %0 : !spmd.array<f32[8, 6]>
}

// -----

// CHECK-LABEL: func.func @scatter_max
// CHECK-NEXT: plan.library "scatter_max"(%arg0, %arg1, %arg2) sizes [1, 8, 3, 6]
func.func @scatter_max(%x: !spmd.array<f32[8, 6]>, %i: !spmd.array<i32[3]>, %u: !spmd.array<f32[3, 6]>)
    -> !spmd.array<f32[8, 6]> {
  %0 = array.scatter max %x, %i, %u dim 0 : <f32[8, 6]>, <i32[3]>, <f32[3, 6]> -> <f32[8, 6]>
  return %0 : !spmd.array<f32[8, 6]>
}

// -----

// CHECK-LABEL: func.func @scatter_replace_along
// CHECK-NEXT: plan.library "scatter_replace_along"(%arg0, %arg1, %arg2) sizes [1, 8, 3, 6]
func.func @scatter_replace_along(%x: !spmd.array<f32[8, 6]>, %i: !spmd.array<i32[3, 6]>, %u: !spmd.array<f32[3, 6]>)
    -> !spmd.array<f32[8, 6]> {
  %0 = array.scatter replace %x, %i, %u dim 0 along : <f32[8, 6]>, <i32[3, 6]>, <f32[3, 6]> -> <f32[8, 6]>
  return %0 : !spmd.array<f32[8, 6]>
}

// -----

// CHECK-LABEL: func.func @window
// CHECK-NEXT: plan.library "update_slice"(%arg0, %arg1, %arg2, %arg3) sizes [8, 6, 1, 6]
func.func @window(%x: !spmd.array<f32[8, 6]>, %u: !spmd.array<f32[1, 6]>, %i: !spmd.array<i32[]>,
                  %j: !spmd.array<i32[]>) -> !spmd.array<f32[8, 6]> {
  %0 = array.dynamic_update_slice %x, %u at (%i, %j) : (!spmd.array<f32[8, 6]>, !spmd.array<f32[1, 6]>, !spmd.array<i32[]>,
    !spmd.array<i32[]>) -> !spmd.array<f32[8, 6]>
  return %0 : !spmd.array<f32[8, 6]>
}

// -----

// CHECK-LABEL: func.func @sort
// CHECK-NEXT: plan.library "argsort_descending"(%arg0) sizes [8, 6, 1]
func.func @sort(%x: !spmd.array<f32[8, 6]>) -> !spmd.array<i32[8, 6]> {
  %0 = array.argsort %x dim 1 descending = true : <f32[8, 6]> -> <i32[8, 6]>
  return %0 : !spmd.array<i32[8, 6]>
}

// -----

// A sort whose positions only serve to read its operand in order returns the values.
// CHECK-LABEL: func.func @sorted
// CHECK-NEXT: plan.library "sort"(%arg0) sizes [8, 6, 5]
// CHECK-NEXT: return
func.func @sorted(%x: !spmd.array<f32[8, 6, 5]>) -> !spmd.array<f32[8, 6, 5]> {
  %0 = array.argsort %x dim 1 descending = false : <f32[8, 6, 5]> -> <i32[8, 6, 5]>
  %1 = array.take_along %x, %0 dim 1 : <f32[8, 6, 5]>, <i32[8, 6, 5]> -> <f32[8, 6, 5]>
  return %1 : !spmd.array<f32[8, 6, 5]>
}

// -----

// CHECK-LABEL: func.func @sorted_vector
// CHECK-NEXT: plan.library "sort_descending"(%arg0) sizes [1, 8, 1]
// CHECK-NEXT: return
func.func @sorted_vector(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  %0 = array.argsort %x dim 0 descending = true : <f32[8]> -> <i32[8]>
  %1 = array.take %x, %0 dim 0 : <f32[8]>, <i32[8]> -> <f32[8]>
  return %1 : !spmd.array<f32[8]>
}

// -----

// Other rows, another array, or positions that are needed, too.
// CHECK-LABEL: func.func @positions
// CHECK-NEXT: plan.library "argsort"(%arg0)
// CHECK-NEXT: array.take %arg0
// CHECK-NEXT: plan.library "argsort"(%arg1)
// CHECK-NEXT: array.take_along %arg0
// CHECK-NEXT: plan.library "argsort"(%arg0)
// CHECK-NEXT: array.take_along %arg0
func.func @positions(%x: !spmd.array<f32[8, 8]>, %y: !spmd.array<f32[8, 8]>)
    -> (!spmd.array<f32[8, 8, 8]>, !spmd.array<f32[8, 8]>, !spmd.array<f32[8, 8]>, !spmd.array<i32[8, 8]>) {
  %0 = array.argsort %x dim 0 descending = false : <f32[8, 8]> -> <i32[8, 8]>
  %1 = array.take %x, %0 dim 0 : <f32[8, 8]>, <i32[8, 8]> -> <f32[8, 8, 8]>
  %2 = array.argsort %y dim 1 descending = false : <f32[8, 8]> -> <i32[8, 8]>
  %3 = array.take_along %x, %2 dim 1 : <f32[8, 8]>, <i32[8, 8]> -> <f32[8, 8]>
  %4 = array.argsort %x dim 1 descending = false : <f32[8, 8]> -> <i32[8, 8]>
  %5 = array.take_along %x, %4 dim 1 : <f32[8, 8]>, <i32[8, 8]> -> <f32[8, 8]>
  return %1, %3, %5, %4 : !spmd.array<f32[8, 8, 8]>, !spmd.array<f32[8, 8]>, !spmd.array<f32[8, 8]>, !spmd.array<i32[8, 8]>
}

// -----

// Operations that only read at indices are not lowered: they are part of kernels.
// CHECK-LABEL: func.func @reads
// CHECK-NEXT: array.take
func.func @reads(%x: !spmd.array<f32[8, 6]>, %i: !spmd.array<i32[3]>) -> !spmd.array<f32[3, 6]> {
  %0 = array.take %x, %i dim 0 : <f32[8, 6]>, <i32[3]> -> <f32[3, 6]>
  return %0 : !spmd.array<f32[3, 6]>
}

// -----

// The five largest of each line, and where they are.
// CHECK-LABEL: func.func @largest
// CHECK-NEXT: plan.library "argsort_descending"(%arg0) sizes [8, 60, 1]
// CHECK-NEXT: array.slice
// RANGES-LABEL: func.func @largest
// RANGES-NEXT: %[[P:.*]] = plan.library "argsort_descending"(%arg0) sizes [8, 60, 1, 0, 5] : (!spmd.array<f32[8, 60]>) -> !spmd.array<i32[8, 5]>
// RANGES-NEXT: array.take_along %arg0, %[[P]] dim 1
func.func @largest(%x: !spmd.array<f32[8, 60]>) -> (!spmd.array<f32[8, 5]>, !spmd.array<i32[8, 5]>) {
  %0 = array.argsort %x dim 1 descending = true : <f32[8, 60]> -> <i32[8, 60]>
  %1 = array.slice %0 [0, 0] to [8, 5] step [1, 1] : <i32[8, 60]> -> <i32[8, 5]>
  %2 = array.take_along %x, %1 dim 1 : <f32[8, 60]>, <i32[8, 5]> -> <f32[8, 5]>
  return %2, %1 : !spmd.array<f32[8, 5]>, !spmd.array<i32[8, 5]>
}

// -----

// A median: the slice is of the positions, or of the values.
// RANGES-LABEL: func.func @median
// RANGES-NEXT: plan.library "sort"(%arg0) sizes [8, 61, 3, 30, 31] : (!spmd.array<f32[8, 61, 3]>) -> !spmd.array<f32[8, 1, 3]>
// RANGES-NEXT: plan.library "sort"(%arg0) sizes [8, 61, 3, 30, 31]
// RANGES-NEXT: return
func.func @median(%x: !spmd.array<f32[8, 61, 3]>) -> (!spmd.array<f32[8, 1, 3]>, !spmd.array<f32[8, 1, 3]>) {
  %0 = array.argsort %x dim 1 descending = false : <f32[8, 61, 3]> -> <i32[8, 61, 3]>
  %1 = array.slice %0 [0, 30, 0] to [8, 31, 3] step [1, 1, 1] : <i32[8, 61, 3]> -> <i32[8, 1, 3]>
  %2 = array.take_along %x, %1 dim 1 : <f32[8, 61, 3]>, <i32[8, 1, 3]> -> <f32[8, 1, 3]>
  %3 = array.argsort %x dim 1 descending = false : <f32[8, 61, 3]> -> <i32[8, 61, 3]>
  %4 = array.take_along %x, %3 dim 1 : <f32[8, 61, 3]>, <i32[8, 61, 3]> -> <f32[8, 61, 3]>
  %5 = array.slice %4 [0, 30, 0] to [8, 31, 3] step [1, 1, 1] : <f32[8, 61, 3]> -> <f32[8, 1, 3]>
  return %2, %5 : !spmd.array<f32[8, 1, 3]>, !spmd.array<f32[8, 1, 3]>
}

// -----

// Two ranges of one sort, every second place, and a slice of lines: all places are sorted.
// RANGES-LABEL: func.func @others
// RANGES-NEXT: plan.library "argsort"(%arg0) sizes [8, 60, 1] :
// RANGES: plan.library "argsort"(%arg1) sizes [8, 60, 1] :
// RANGES: plan.library "argsort"(%arg2) sizes [8, 60, 1] :
func.func @others(%x: !spmd.array<f32[8, 60]>, %y: !spmd.array<f32[8, 60]>, %z: !spmd.array<f32[8, 60]>)
    -> (!spmd.array<i32[8, 5]>, !spmd.array<i32[8, 5]>, !spmd.array<i32[8, 3]>, !spmd.array<i32[4, 5]>) {
  %0 = array.argsort %x dim 1 descending = false : <f32[8, 60]> -> <i32[8, 60]>
  %1 = array.slice %0 [0, 0] to [8, 5] step [1, 1] : <i32[8, 60]> -> <i32[8, 5]>
  %2 = array.slice %0 [0, 55] to [8, 60] step [1, 1] : <i32[8, 60]> -> <i32[8, 5]>
  %3 = array.argsort %y dim 1 descending = false : <f32[8, 60]> -> <i32[8, 60]>
  %4 = array.slice %3 [0, 0] to [8, 5] step [1, 2] : <i32[8, 60]> -> <i32[8, 3]>
  %5 = array.argsort %z dim 1 descending = false : <f32[8, 60]> -> <i32[8, 60]>
  %6 = array.slice %5 [0, 0] to [4, 5] step [1, 1] : <i32[8, 60]> -> <i32[4, 5]>
  return %1, %2, %4, %6 : !spmd.array<i32[8, 5]>, !spmd.array<i32[8, 5]>, !spmd.array<i32[8, 3]>, !spmd.array<i32[4, 5]>
}

// -----

// A transform: outer, length, inner, the parts of the operand and of the result, the divisor.
// CHECK-LABEL: func.func @transforms
// CHECK: plan.library "fft"(%{{.*}}) sizes [3, 8, 5, 2, 2, 1] : (!spmd.array<f32[3, 8, 5, 2]>) -> !spmd.array<f32[3, 8, 5, 2]>
// CHECK: plan.library "inverse_fft"(%{{.*}}) sizes [24, 9, 1, 2, 1, 9] : (!spmd.array<f32[3, 8, 5, 2]>) -> !spmd.array<f32[3, 8, 9, 1]>
func.func @transforms(%x: !spmd.array<f32[3, 8, 5, 2]>) -> (!spmd.array<f32[3, 8, 5, 2]>, !spmd.array<f32[3, 8, 9, 1]>) {
  %0 = array.fft %x dim 1 length 8 divisor 1 : <f32[3, 8, 5, 2]> -> <f32[3, 8, 5, 2]>
  %1 = array.fft %x dim 2 length 9 inverse divisor 9 : <f32[3, 8, 5, 2]> -> <f32[3, 8, 9, 1]>
  return %0, %1 : !spmd.array<f32[3, 8, 5, 2]>, !spmd.array<f32[3, 8, 9, 1]>
}
