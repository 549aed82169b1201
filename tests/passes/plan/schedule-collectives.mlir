// RUN: spmd-opt %s --spmdc-schedule-collectives --split-input-file | FileCheck %s

// Two independent sums are pending together, also while the second operand is computed.
// CHECK-LABEL: func.func @independent
// CHECK: plan.start 0(%arg0
// CHECK: plan.launch @exp
// CHECK: plan.start 1(
// CHECK: plan.done
// CHECK-NEXT: plan.done
// CHECK-NEXT: plan.launch @add
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @independent(%x: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
    %t0 = plan.start 0(%x : <f32[4]>) {
    ^bb0(%y: !spmd.array<f32[4]>):
      %1 = spmd.all_reduce sum %y over <a> : <f32[4]> -> <f32[4]>
      plan.yield %1 : !spmd.array<f32[4]>
    }
    %0 = plan.done %t0 : <f32[4]>
    %e = plan.launch @exp(%x) : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    %t1 = plan.start 1(%e : <f32[4]>) {
    ^bb0(%y: !spmd.array<f32[4]>):
      %1 = spmd.all_reduce sum %y over <a> : <f32[4]> -> <f32[4]>
      plan.yield %1 : !spmd.array<f32[4]>
    }
    %2 = plan.done %t1 : <f32[4]>
    %3 = plan.launch @add(%0, %2) : (!spmd.array<f32[4]>, !spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    return %3 : !spmd.array<f32[4]>
  }
}

// -----

// A reader of a result is delayed while another step can run. The collective whose operand is available starts first,
// and numbers follow.
// CHECK-LABEL: func.func @put_off
// CHECK: %[[FIRST:.*]] = plan.start 0(%arg0
// CHECK: %[[SECOND:.*]] = plan.start 1(%arg1
// CHECK: plan.launch @exp(%arg1)
// CHECK: plan.done %[[FIRST]]
// CHECK-NEXT: plan.launch @exp
// CHECK-NEXT: plan.start 2(
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @put_off(%x: !spmd.array<f32[4]>, %z: !spmd.array<f32[4]>) -> (!spmd.array<f32[4]>, !spmd.array<f32[4]>, !spmd.array<f32[4]>) {
    %t0 = plan.start 0(%x : <f32[4]>) {
    ^bb0(%y: !spmd.array<f32[4]>):
      %1 = spmd.all_reduce sum %y over <a> : <f32[4]> -> <f32[4]>
      plan.yield %1 : !spmd.array<f32[4]>
    }
    %0 = plan.done %t0 : <f32[4]>
    %e = plan.launch @exp(%0) : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    %t1 = plan.start 1(%e : <f32[4]>) {
    ^bb0(%y: !spmd.array<f32[4]>):
      %1 = spmd.all_reduce sum %y over <a> : <f32[4]> -> <f32[4]>
      plan.yield %1 : !spmd.array<f32[4]>
    }
    %2 = plan.done %t1 : <f32[4]>
    %t2 = plan.start 2(%z : <f32[4]>) {
    ^bb0(%y: !spmd.array<f32[4]>):
      %1 = spmd.all_reduce sum %y over <a> : <f32[4]> -> <f32[4]>
      plan.yield %1 : !spmd.array<f32[4]>
    }
    %3 = plan.done %t2 : <f32[4]>
    %f = plan.launch @exp(%z) : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    return %2, %3, %f : !spmd.array<f32[4]>, !spmd.array<f32[4]>, !spmd.array<f32[4]>
  }
}

// -----

// Only two of these may be pending: a gathered layer is used before the third is gathered.
// CHECK-LABEL: func.func @memory_is_bounded
// CHECK: %[[FIRST:.*]] = plan.start 0(
// CHECK: %[[SECOND:.*]] = plan.start 1(
// CHECK-NOT: plan.start
// CHECK: plan.done %[[FIRST]]
// CHECK-NEXT: plan.launch @half
// CHECK-NEXT: plan.start 2(
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @memory_is_bounded(%x: !spmd.array<f32[400000]>, %y: !spmd.array<f32[400000]>, %z: !spmd.array<f32[400000]>)
      -> (!spmd.array<f32[4]>, !spmd.array<f32[4]>, !spmd.array<f32[4]>) {
    %t0 = plan.start 0(%x : <f32[400000]>) {
    ^bb0(%p: !spmd.array<f32[400000]>):
      %1 = spmd.all_gather %p dim 0 over <a> : <f32[400000]> -> <f32[800000]>
      plan.yield %1 : !spmd.array<f32[800000]>
    }
    %0 = plan.done %t0 : <f32[800000]>
    %h0 = plan.launch @half(%0) : (!spmd.array<f32[800000]>) -> !spmd.array<f32[4]>
    %t1 = plan.start 1(%y : <f32[400000]>) {
    ^bb0(%p: !spmd.array<f32[400000]>):
      %1 = spmd.all_gather %p dim 0 over <a> : <f32[400000]> -> <f32[800000]>
      plan.yield %1 : !spmd.array<f32[800000]>
    }
    %2 = plan.done %t1 : <f32[800000]>
    %h1 = plan.launch @half(%2) : (!spmd.array<f32[800000]>) -> !spmd.array<f32[4]>
    %t2 = plan.start 2(%z : <f32[400000]>) {
    ^bb0(%p: !spmd.array<f32[400000]>):
      %1 = spmd.all_gather %p dim 0 over <a> : <f32[400000]> -> <f32[800000]>
      plan.yield %1 : !spmd.array<f32[800000]>
    }
    %3 = plan.done %t2 : <f32[800000]>
    %h2 = plan.launch @half(%3) : (!spmd.array<f32[800000]>) -> !spmd.array<f32[4]>
    return %h0, %h1, %h2 : !spmd.array<f32[4]>, !spmd.array<f32[4]>, !spmd.array<f32[4]>
  }
}

// -----

// Prints keep their order.
// CHECK-LABEL: func.func @prints_stay
// CHECK: plan.start 0
// CHECK-NEXT: ^bb0
// CHECK: plan.done
// CHECK-NEXT: plan.print ["sum ", ""]
// CHECK-NEXT: plan.print ["x ", ""]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @prints_stay(%x: !spmd.array<f32[]>) {
    %t0 = plan.start 0(%x : <f32[]>) {
    ^bb0(%y: !spmd.array<f32[]>):
      %1 = spmd.all_reduce sum %y over <a> : <f32[]> -> <f32[]>
      plan.yield %1 : !spmd.array<f32[]>
    }
    %0 = plan.done %t0 : <f32[]>
    plan.print ["sum ", ""](%0) global [!spmd.array<f32[]>] : !spmd.array<f32[]>
    plan.print ["x ", ""](%x) global [!spmd.array<f32[]>] : !spmd.array<f32[]>
    return
  }
}

// -----

// Gathers of parameters can always be started. Still, the sum of a computed value starts before the next
// gather, or values that wait to be summed would pile up.
// CHECK-LABEL: func.func @sums_before_gathers
// CHECK: plan.start 0(%arg0
// CHECK: plan.start 1(%arg1
// CHECK: plan.launch @f
// CHECK-NEXT: %[[P:.*]] = plan.launch @product
// CHECK-NEXT: plan.start 2(%[[P]]
// CHECK: plan.start 3(%arg2
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @sums_before_gathers(%x: !spmd.array<f32[400000]>, %y: !spmd.array<f32[400000]>, %z: !spmd.array<f32[400000]>) -> (!spmd.array<f32[400000]>, !spmd.array<f32[800000]>) {
    %t0 = plan.start 0(%x : <f32[400000]>) {
    ^bb0(%p: !spmd.array<f32[400000]>):
      %1 = spmd.all_gather %p dim 0 over <a> : <f32[400000]> -> <f32[800000]>
      plan.yield %1 : !spmd.array<f32[800000]>
    }
    %0 = plan.done %t0 : <f32[800000]>
    %f = plan.launch @f(%0) : (!spmd.array<f32[800000]>) -> !spmd.array<f32[800000]>
    %d = plan.launch @product(%f) : (!spmd.array<f32[800000]>) -> !spmd.array<f32[800000]>
    %t1 = plan.start 1(%d : <f32[800000]>) {
    ^bb0(%p: !spmd.array<f32[800000]>):
      %1 = spmd.reduce_scatter sum %p dim 0 over <a> : <f32[800000]> -> <f32[400000]>
      plan.yield %1 : !spmd.array<f32[400000]>
    }
    %r = plan.done %t1 : <f32[400000]>
    %t2 = plan.start 2(%y : <f32[400000]>) {
    ^bb0(%p: !spmd.array<f32[400000]>):
      %1 = spmd.all_gather %p dim 0 over <a> : <f32[400000]> -> <f32[800000]>
      plan.yield %1 : !spmd.array<f32[800000]>
    }
    %2 = plan.done %t2 : <f32[800000]>
    %g = plan.launch @g(%f, %2) : (!spmd.array<f32[800000]>, !spmd.array<f32[800000]>) -> !spmd.array<f32[800000]>
    %t3 = plan.start 3(%z : <f32[400000]>) {
    ^bb0(%p: !spmd.array<f32[400000]>):
      %1 = spmd.all_gather %p dim 0 over <a> : <f32[400000]> -> <f32[800000]>
      plan.yield %1 : !spmd.array<f32[800000]>
    }
    %3 = plan.done %t3 : <f32[800000]>
    %h = plan.launch @g(%g, %3) : (!spmd.array<f32[800000]>, !spmd.array<f32[800000]>) -> !spmd.array<f32[800000]>
    return %r, %h : !spmd.array<f32[400000]>, !spmd.array<f32[800000]>
  }
}

// -----

// Two steps of a ring that adds up: each transfer has the product before its addition; the first does not have both.
// CHECK-LABEL: func.func @ring
// CHECK: %[[FIRST:.*]] = plan.start 0(%arg0
// CHECK: plan.launch @p
// CHECK-NEXT: plan.done %[[FIRST]]
// CHECK-NEXT: plan.launch @add
// CHECK-NEXT: %[[SECOND:.*]] = plan.start 1(
// CHECK: plan.launch @q
// CHECK-NEXT: plan.done %[[SECOND]]
// CHECK-NEXT: plan.launch @add
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @ring(%x: !spmd.array<f32[4]>, %y: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
    %t0 = plan.start 0(%x : <f32[4]>) {
    ^bb0(%z: !spmd.array<f32[4]>):
      %1 = spmd.collective_permute %z pairs [0, 1, 1, 0] over <a> {spmd.overlapped} : <f32[4]> -> <f32[4]>
      plan.yield %1 : !spmd.array<f32[4]>
    }
    %0 = plan.done %t0 : <f32[4]>
    %p = plan.launch @p(%y) : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    %s = plan.launch @add(%0, %p) : (!spmd.array<f32[4]>, !spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    %t1 = plan.start 1(%s : <f32[4]>) {
    ^bb0(%z: !spmd.array<f32[4]>):
      %1 = spmd.collective_permute %z pairs [0, 1, 1, 0] over <a> {spmd.overlapped} : <f32[4]> -> <f32[4]>
      plan.yield %1 : !spmd.array<f32[4]>
    }
    %2 = plan.done %t1 : <f32[4]>
    %q = plan.launch @q(%y) : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    %r = plan.launch @add(%2, %q) : (!spmd.array<f32[4]>, !spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    return %r : !spmd.array<f32[4]>
  }
}

// -----

// Two steps of a ring that gathers: the second transfer starts when the first is done, and overlaps with the second product.
// CHECK-LABEL: func.func @gathering_ring
// CHECK: %[[FIRST:.*]] = plan.start 0(%arg0
// CHECK: plan.launch @p(%arg0)
// CHECK-NEXT: %[[PIECE:.*]] = plan.done %[[FIRST]]
// CHECK-NEXT: %[[SECOND:.*]] = plan.start 1(%[[PIECE]]
// CHECK: plan.launch @p(%[[PIECE]])
// CHECK-NEXT: plan.done %[[SECOND]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @gathering_ring(%x: !spmd.array<f32[4]>) -> (!spmd.array<f32[4]>, !spmd.array<f32[4]>, !spmd.array<f32[4]>) {
    %t0 = plan.start 0(%x : <f32[4]>) {
    ^bb0(%z: !spmd.array<f32[4]>):
      %1 = spmd.collective_permute %z pairs [0, 1, 1, 0] over <a> {spmd.overlapped} : <f32[4]> -> <f32[4]>
      plan.yield %1 : !spmd.array<f32[4]>
    }
    %0 = plan.done %t0 : <f32[4]>
    %p = plan.launch @p(%x) : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    %t1 = plan.start 1(%0 : <f32[4]>) {
    ^bb0(%z: !spmd.array<f32[4]>):
      %1 = spmd.collective_permute %z pairs [0, 1, 1, 0] over <a> {spmd.overlapped} : <f32[4]> -> <f32[4]>
      plan.yield %1 : !spmd.array<f32[4]>
    }
    %2 = plan.done %t1 : <f32[4]>
    %q = plan.launch @p(%0) : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    return %p, %q, %2 : !spmd.array<f32[4]>, !spmd.array<f32[4]>, !spmd.array<f32[4]>
  }
}
