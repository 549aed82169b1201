// RUN: spmd-opt %s --spmdc-fold-collectives --split-input-file | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-fold-collectives --debug-only=fold-collectives 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[fold-collectives] {{.*}}all_reduce: not folded: the all_reduce in front of it runs another number of times{{$}}
// TRACE: {{^}}[fold-collectives] {{.*}}reduce_scatter: not folded: the collective in front of it is another one (all_gather){{$}}
// TRACE: {{^}}[fold-collectives] {{.*}}all_reduce: not folded: both are over axis a{{$}}
// TRACE: {{^}}[fold-collectives] {{.*}}all_reduce: not folded: one collective takes {{.*}} ms, the two {{.*}} ms{{$}}

module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=3, c=2>} {
// Sums of sums become one, in either order; so do three. 12 devices send 2 * 11/12 of it instead of 2 * (1/2 + 2/3 + 1/2).
// CHECK-LABEL: func.func @sums
func.func @sums(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  // CHECK-NEXT: %[[R:.*]] = spmd.all_reduce sum %arg0 over <a, b, c> {why = "one; two; three"} : <f32[8]> -> <f32[8]>
  // CHECK-NEXT: return %[[R]]
  %0 = spmd.all_reduce sum %x over <b> {why = "one"} : <f32[8]> -> <f32[8]>
  %1 = spmd.all_reduce sum %0 over <a> {why = "two"} : <f32[8]> -> <f32[8]>
  %2 = spmd.all_reduce sum %1 over <c> {why = "three"} : <f32[8]> -> <f32[8]>
  return %2 : !spmd.array<f32[8]>
}

// Not folded: another kind, the same axis again (which multiplies by its size), a first sum with another use.
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

// Equal collectives of one value become one, with both reasons; collectives of another kind or value do not.
// CHECK-LABEL: func.func @equal
func.func @equal(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[8]>) -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8]>) {
  // CHECK-NEXT: %[[R:.*]] = spmd.all_reduce max %arg0 over <a> {why = "one; two"} : <f32[8]> -> <f32[8]>
  // CHECK-NEXT: %[[S:.*]] = spmd.all_reduce min %arg0 over <a>
  // CHECK-NEXT: %[[T:.*]] = spmd.all_reduce max %arg1 over <a>
  // CHECK-NEXT: return %[[R]], %[[R]], %[[S]], %[[T]]
  %0 = spmd.all_reduce max %x over <a> {why = "one"} : <f32[8]> -> <f32[8]>
  %1 = spmd.all_reduce max %x over <a> {why = "two"} : <f32[8]> -> <f32[8]>
  %2 = spmd.all_reduce min %x over <a> {why = "two"} : <f32[8]> -> <f32[8]>
  %3 = spmd.all_reduce max %y over <a> {why = "one"} : <f32[8]> -> <f32[8]>
  return %0, %1, %2, %3 : !spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8]>
}

// The last gather has the larger shards; of scatters the first one.
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

// Not folded: uneven shards, which would differ in one step, and different dimensions.
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

// A collective in front of a loop is not folded into one that runs in each iteration.
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

// Not folded: a slow axis should carry little, and half of the bytes of a sum over both would be sent along it.
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>,
    spmd.cost_model = "{\"axes\": {\"a\": {\"latency_us\": 10, \"bytes_per_second\": 1e8}}}"} {
// CHECK-LABEL: func.func @slow
func.func @slow(%x: !spmd.array<f32[1048576]>) -> !spmd.array<f32[1048576]> {
  // CHECK-NEXT: spmd.all_reduce max %arg0 over <b>
  // CHECK-NEXT: spmd.all_reduce max %{{.*}} over <a>
  %0 = spmd.all_reduce max %x over <b> : <f32[1048576]> -> <f32[1048576]>
  %1 = spmd.all_reduce max %0 over <a> : <f32[1048576]> -> <f32[1048576]>
  return %1 : !spmd.array<f32[1048576]>
}
}

// -----

// A sum over a slow axis and a fast one, in one step or in two, is split so that a quarter is sent along the slow axis. Not
// split: a sum over the slow axis alone, other reductions, 16-bit floats. 'a' sends 1e8 bytes per second, 'b' 5e9.
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=4>, spmd.cost_model = "{\"axes\": {\"a\": {\"latency_us\": 200, \"bytes_per_second\": 1e8}}}"} {
// CHECK-LABEL: func.func @by_parts
func.func @by_parts(%x: !spmd.array<f32[1022, 64]>, %y: !spmd.array<f32[1022, 64]>) -> (!spmd.array<f32[1022, 64]>, !spmd.array<f32[1022, 64]>) {
  // CHECK-NEXT: %[[P:.*]] = spmd.reduce_scatter sum %arg0 dim {{[01]}} over <b> {why = "inner; outer"}
  // CHECK-NEXT: %[[Q:.*]] = spmd.all_reduce sum %[[P]] over <a> {why = "inner; outer"}
  // CHECK-NEXT: %[[R:.*]] = spmd.all_gather %[[Q]] dim {{[01]}} over <b> {why = "inner; outer"} {{.*}} -> <f32[1022, 64]>
  // CHECK-NEXT: %[[P2:.*]] = spmd.reduce_scatter sum %arg1 dim {{[01]}} over <b> {why = "both"}
  // CHECK-NEXT: %[[Q2:.*]] = spmd.all_reduce sum %[[P2]] over <a>
  // CHECK-NEXT: %[[R2:.*]] = spmd.all_gather %[[Q2]] dim {{[01]}} over <b> {{.*}} -> <f32[1022, 64]>
  // CHECK-NEXT: return %[[R]], %[[R2]]
  %0 = spmd.all_reduce sum %x over <b> {why = "inner"} : <f32[1022, 64]> -> <f32[1022, 64]>
  %1 = spmd.all_reduce sum %0 over <a> {why = "outer"} : <f32[1022, 64]> -> <f32[1022, 64]>
  %2 = spmd.all_reduce sum %y over <a, b> {why = "both"} : <f32[1022, 64]> -> <f32[1022, 64]>
  return %1, %2 : !spmd.array<f32[1022, 64]>, !spmd.array<f32[1022, 64]>
}
// CHECK-LABEL: func.func @whole
func.func @whole(%x: !spmd.array<f32[1022, 64]>, %h: !spmd.array<f16[1022, 64]>)
    -> (!spmd.array<f32[1022, 64]>, !spmd.array<f32[1022, 64]>, !spmd.array<f32[]>, !spmd.array<f16[1022, 64]>) {
  // CHECK-NEXT: %[[C:.*]] = array.constant
  // CHECK-NEXT: %[[S:.*]] = spmd.all_reduce sum %arg0 over <a> :
  // CHECK-NEXT: %[[M:.*]] = spmd.all_reduce max %arg0 over <a, b> :
  // CHECK-NEXT: %[[T:.*]] = spmd.all_reduce sum %[[C]] over <a, b> :
  // CHECK-NEXT: %[[H:.*]] = spmd.all_reduce sum %arg1 over <a, b> :
  // CHECK-NEXT: return %[[S]], %[[M]], %[[T]], %[[H]]
  %one = array.constant dense<1.0> : tensor<f32> -> <f32[]>
  %0 = spmd.all_reduce sum %x over <a> : <f32[1022, 64]> -> <f32[1022, 64]>
  %1 = spmd.all_reduce max %x over <a, b> : <f32[1022, 64]> -> <f32[1022, 64]>
  %2 = spmd.all_reduce sum %one over <a, b> : <f32[]> -> <f32[]>
  %3 = spmd.all_reduce sum %h over <a, b> : <f16[1022, 64]> -> <f16[1022, 64]>
  return %0, %1, %2, %3 : !spmd.array<f32[1022, 64]>, !spmd.array<f32[1022, 64]>, !spmd.array<f32[]>, !spmd.array<f16[1022, 64]>
}
}
