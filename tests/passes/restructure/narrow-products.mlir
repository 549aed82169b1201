// RUN: spmd-opt %s --split-input-file --spmdc-narrow-products --spmdc-verify-propagated | FileCheck %s

// Both sides in the narrow type, with their shardings.
// CHECK-LABEL: func.func @product(
// CHECK-NEXT: %[[SUM:.*]] = array.dot_general %arg0, %arg1 {{.*}} : <bf16[8@a, 16@_]>, <bf16[16@_, 4@_]> -> <f32[8@a, 4@_]>
// CHECK-NEXT: return %[[SUM]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @product(%x: !spmd.array<bf16[8@a, 16@_]>, %y: !spmd.array<bf16[16@_, 4@_]>) -> !spmd.array<f32[8@a, 4@_]> {
    %0 = array.convert %x : <bf16[8@a, 16@_]> -> <f32[8@a, 16@_]>
    %1 = array.convert %y : <bf16[16@_, 4@_]> -> <f32[16@_, 4@_]>
    %2 = array.dot_general %0, %1 contract [1] x [0] batch [] x [] : <f32[8@a, 16@_]>, <f32[16@_, 4@_]> -> <f32[8@a, 4@_]>
    return %2 : !spmd.array<f32[8@a, 4@_]>
  }
}

// -----

// A resharding conversion sends the narrow type. The other users of a conversion keep it.
// CHECK-LABEL: func.func @resharded(
// CHECK-NEXT: %[[WIDE:.*]] = array.convert %arg0
// CHECK-NEXT: %[[MOVED:.*]] = spmd.reshard %arg0 : <f16[8@a, 16@_]> -> <f16[8@_, 16@a]>
// CHECK-NEXT: array.dot_general %[[MOVED]], %arg1 {{.*}} : <f16[8@_, 16@a]>, <f16[16@a, 4@_]> -> <f32[8@_, 4@_] unreduced(a)>
// CHECK: return %{{.*}}, %[[WIDE]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @resharded(%x: !spmd.array<f16[8@a, 16@_]>, %y: !spmd.array<f16[16@a, 4@_]>) -> (!spmd.array<f32[8@_, 4@_]>, !spmd.array<f32[8@_, 16@a]>) {
    %0 = array.convert %x : <f16[8@a, 16@_]> -> <f32[8@_, 16@a]>
    %1 = array.convert %y : <f16[16@a, 4@_]> -> <f32[16@a, 4@_]>
    %2 = array.dot_general %0, %1 contract [1] x [0] batch [] x [] : <f32[8@_, 16@a]>, <f32[16@a, 4@_]> -> <f32[8@_, 4@_] unreduced(a)>
    %3 = spmd.reshard %2 : <f32[8@_, 4@_] unreduced(a)> -> <f32[8@_, 4@_]>
    return %3, %0 : !spmd.array<f32[8@_, 4@_]>, !spmd.array<f32[8@_, 16@a]>
  }
}

// -----

// Moves between the conversion and the product; a square; signed and unsigned integers.
// CHECK-LABEL: func.func @moved(
// CHECK-NEXT: %[[T:.*]] = array.transpose %arg0 perm [1, 0] : <i8[8@_, 16@_]> -> <i8[16@_, 8@_]>
// CHECK-NEXT: %[[R:.*]] = array.reshape %[[T]] : <i8[16@_, 8@_]> -> <i8[4@_, 4@_, 8@_]>
// CHECK-NEXT: array.dot_general %[[R]], %arg1 {{.*}} : <i8[4@_, 4@_, 8@_]>, <i8[8@_, 3@_]> -> <i32[4@_, 4@_, 3@_]>
// CHECK-NEXT: array.dot_general %arg2, %arg2 {{.*}} : <u8[8@_]>, <u8[8@_]> -> <i32[]>
// CHECK-NEXT: array.dot_general %arg3, %arg3 {{.*}} : <u16[8@_]>, <u16[8@_]> -> <u32[]>
// CHECK-NEXT: return
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @moved(%x: !spmd.array<i8[8@_, 16@_]>, %y: !spmd.array<i8[8@_, 3@_]>, %z: !spmd.array<u8[8@_]>, %u: !spmd.array<u16[8@_]>) -> (!spmd.array<i32[4@_, 4@_, 3@_]>, !spmd.array<i32[]>, !spmd.array<u32[]>) {
    %0 = array.convert %x : <i8[8@_, 16@_]> -> <i32[8@_, 16@_]>
    %1 = array.transpose %0 perm [1, 0] : <i32[8@_, 16@_]> -> <i32[16@_, 8@_]>
    %2 = array.reshape %1 : <i32[16@_, 8@_]> -> <i32[4@_, 4@_, 8@_]>
    %3 = array.convert %y : <i8[8@_, 3@_]> -> <i32[8@_, 3@_]>
    %4 = array.dot_general %2, %3 contract [2] x [0] batch [] x [] : <i32[4@_, 4@_, 8@_]>, <i32[8@_, 3@_]> -> <i32[4@_, 4@_, 3@_]>
    %5 = array.convert %z : <u8[8@_]> -> <i32[8@_]>
    %6 = array.dot_general %5, %5 contract [0] x [0] batch [] x [] : <i32[8@_]>, <i32[8@_]> -> <i32[]>
    %7 = array.convert %u : <u16[8@_]> -> <u32[8@_]>
    %8 = array.dot_general %7, %7 contract [0] x [0] batch [] x [] : <u32[8@_]>, <u32[8@_]> -> <u32[]>
    return %4, %6, %8 : !spmd.array<i32[4@_, 4@_, 3@_]>, !spmd.array<i32[]>, !spmd.array<u32[]>
  }
}

// -----

// Unchanged: one side alone, two types, sums of f64, of more than 32 bits, and of signed integers as unsigned ones, bools,
// and partial sums.
// CHECK-LABEL: func.func @otherwise(
// CHECK-NOT: array.dot_general {{.*}}bf16
// CHECK-NOT: array.dot_general {{.*}}i8
// CHECK-NOT: array.dot_general {{.*}}bool
// CHECK: return
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @otherwise(%x: !spmd.array<bf16[8@_]>, %f: !spmd.array<f32[8@_]>, %h: !spmd.array<f16[8@_]>, %i: !spmd.array<i8[8@_]>, %p: !spmd.array<bool[8@_]>, %s: !spmd.array<bf16[8@_] unreduced(a)>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>, !spmd.array<f64[]>, !spmd.array<i64[]>, !spmd.array<u32[]>, !spmd.array<i32[]>, !spmd.array<f32[]>) {
    %0 = array.convert %x : <bf16[8@_]> -> <f32[8@_]>
    %1 = array.dot_general %0, %f contract [0] x [0] batch [] x [] : <f32[8@_]>, <f32[8@_]> -> <f32[]>
    %2 = array.convert %h : <f16[8@_]> -> <f32[8@_]>
    %3 = array.dot_general %0, %2 contract [0] x [0] batch [] x [] : <f32[8@_]>, <f32[8@_]> -> <f32[]>
    %4 = array.convert %x : <bf16[8@_]> -> <f64[8@_]>
    %5 = array.dot_general %4, %4 contract [0] x [0] batch [] x [] : <f64[8@_]>, <f64[8@_]> -> <f64[]>
    %6 = array.convert %i : <i8[8@_]> -> <i64[8@_]>
    %7 = array.dot_general %6, %6 contract [0] x [0] batch [] x [] : <i64[8@_]>, <i64[8@_]> -> <i64[]>
    %8 = array.convert %i : <i8[8@_]> -> <u32[8@_]>
    %9 = array.dot_general %8, %8 contract [0] x [0] batch [] x [] : <u32[8@_]>, <u32[8@_]> -> <u32[]>
    %10 = array.convert %p : <bool[8@_]> -> <i32[8@_]>
    %11 = array.dot_general %10, %10 contract [0] x [0] batch [] x [] : <i32[8@_]>, <i32[8@_]> -> <i32[]>
    %12 = array.convert %s : <bf16[8@_] unreduced(a)> -> <f32[8@_]>
    %13 = array.dot_general %12, %12 contract [0] x [0] batch [] x [] : <f32[8@_]>, <f32[8@_]> -> <f32[]>
    return %1, %3, %5, %7, %9, %11, %13 : !spmd.array<f32[]>, !spmd.array<f32[]>, !spmd.array<f64[]>, !spmd.array<i64[]>, !spmd.array<u32[]>, !spmd.array<i32[]>, !spmd.array<f32[]>
  }
}
