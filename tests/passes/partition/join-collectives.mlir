// RUN: spmd-opt %s --spmdc-join-collectives --split-input-file | FileCheck %s

module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=3, c=2>} {
// Sums of sums are one, whoever comes first; so are three. 12 devices send 2 * 11/12 of it instead of 2 * (1/2 + 2/3 + 1/2).
// CHECK-LABEL: func.func @sums
func.func @sums(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  // CHECK-NEXT: %[[R:.*]] = spmd.all_reduce sum %arg0 over <a, b, c> {why = "one; two; three"} : <f32[8]> -> <f32[8]>
  // CHECK-NEXT: return %[[R]]
  %0 = spmd.all_reduce sum %x over <b> {why = "one"} : <f32[8]> -> <f32[8]>
  %1 = spmd.all_reduce sum %0 over <a> {why = "two"} : <f32[8]> -> <f32[8]>
  %2 = spmd.all_reduce sum %1 over <c> {why = "three"} : <f32[8]> -> <f32[8]>
  return %2 : !spmd.array<f32[8]>
}

// Not of another kind, nor over the same axis again (which multiplies by its size), nor what somebody else reads.
// CHECK-LABEL: func.func @apart
func.func @apart(%x: !spmd.array<f32[8]>) -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>) {
  // CHECK-NEXT: spmd.all_reduce sum %arg0 over <a, b>
  // CHECK-NEXT: spmd.all_reduce max %{{.*}} over <c>
  // CHECK-NEXT: spmd.all_reduce sum %arg0 over <a>
  // CHECK-NEXT: spmd.all_reduce sum %{{.*}} over <a>
  // CHECK-NEXT: spmd.all_reduce sum %{{.*}} over <b>
  // CHECK-NEXT: array.add
  %0 = spmd.all_reduce sum %x over <a> : <f32[8]> -> <f32[8]>
  %1 = spmd.all_reduce sum %0 over <b> : <f32[8]> -> <f32[8]>
  %2 = spmd.all_reduce max %1 over <c> : <f32[8]> -> <f32[8]>
  %3 = spmd.all_reduce sum %x over <a> : <f32[8]> -> <f32[8]>
  %4 = spmd.all_reduce sum %3 over <a> : <f32[8]> -> <f32[8]>
  %5 = spmd.all_reduce sum %4 over <b> : <f32[8]> -> <f32[8]>
  %6 = array.add %4, %5 : <f32[8]>
  return %2, %6 : !spmd.array<f32[8]>, !spmd.array<f32[8]>
}

// The gather that comes last has the larger pieces, the scatter that comes first.
// CHECK-LABEL: func.func @pieces
func.func @pieces(%x: !spmd.array<f32[2, 4]>) -> !spmd.array<f32[2, 4]> {
  // CHECK-NEXT: %[[G:.*]] = spmd.all_gather %arg0 dim 0 over <b, a> : <f32[2, 4]> -> <f32[12, 4]>
  // CHECK-NEXT: %[[S:.*]] = spmd.reduce_scatter sum %[[G]] dim 0 over <b, a> : <f32[12, 4]> -> <f32[2, 4]>
  // CHECK-NEXT: return %[[S]]
  %0 = spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[4, 4]>
  %1 = spmd.all_gather %0 dim 0 over <b> : <f32[4, 4]> -> <f32[12, 4]>
  %2 = spmd.reduce_scatter sum %1 dim 0 over <b> : <f32[12, 4]> -> <f32[4, 4]>
  %3 = spmd.reduce_scatter sum %2 dim 0 over <a> : <f32[4, 4]> -> <f32[2, 4]>
  return %3 : !spmd.array<f32[2, 4]>
}

// Uneven pieces are others in one step, and other dimensions stay other ones.
// CHECK-LABEL: func.func @uneven
func.func @uneven(%x: !spmd.array<f32[2, 4]>) -> !spmd.array<f32[9, 8]> {
  // CHECK-NEXT: spmd.all_gather %arg0 dim 0 over <a> : <f32[2, 4]> -> <f32[3, 4]>
  // CHECK-NEXT: spmd.all_gather %{{.*}} dim 0 over <b> : <f32[3, 4]> -> <f32[9, 4]>
  // CHECK-NEXT: spmd.all_gather %{{.*}} dim 1 over <c>
  %0 = spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[3, 4]>
  %1 = spmd.all_gather %0 dim 0 over <b> : <f32[3, 4]> -> <f32[9, 4]>
  %2 = spmd.all_gather %1 dim 1 over <c> : <f32[9, 4]> -> <f32[9, 8]>
  return %2 : !spmd.array<f32[9, 8]>
}

// What runs once in front of a loop does not run in each of its iterations.
// CHECK-LABEL: func.func @loop
func.func @loop(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  // CHECK-NEXT: spmd.all_reduce sum %arg0 over <a>
  // CHECK: spmd.all_reduce sum %{{.*}} over <b>
  %0 = spmd.all_reduce sum %x over <a> : <f32[8]> -> <f32[8]>
  %1 = array.for 0 to 3 (%x) {
  ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8]>):
    %2 = spmd.all_reduce sum %0 over <b> : <f32[8]> -> <f32[8]>
    %3 = array.add %2, %c : <f32[8]>
    array.yield %3 : !spmd.array<f32[8]>
  } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
  return %1 : !spmd.array<f32[8]>
}
}

// -----

// Over a slow axis as little as possible: half of what is sent over both would go along it.
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>,
    spmd.cost_model = "{\"axes\": {\"a\": {\"latency_us\": 10, \"bytes_per_second\": 1e8}}}"} {
// CHECK-LABEL: func.func @slow
func.func @slow(%x: !spmd.array<f32[1048576]>) -> !spmd.array<f32[1048576]> {
  // CHECK-NEXT: spmd.all_reduce sum %arg0 over <b>
  // CHECK-NEXT: spmd.all_reduce sum %{{.*}} over <a>
  %0 = spmd.all_reduce sum %x over <b> : <f32[1048576]> -> <f32[1048576]>
  %1 = spmd.all_reduce sum %0 over <a> : <f32[1048576]> -> <f32[1048576]>
  return %1 : !spmd.array<f32[1048576]>
}
}
