// RUN: spmd-opt %s --spmdc-differentiate --spmdc-verify-differentiated --split-input-file --verify-diagnostics | FileCheck %s

// The backward pass uses the forward pass's values: one exponential, which is its own derivative.
// CHECK-LABEL: func.func @forward_values_are_shared
func.func @forward_values_are_shared(%x: !spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>) {
  // CHECK: %[[E:.*]] = array.exp %arg0
  // CHECK: %[[ONE:.*]] = array.constant dense<1.000000e+00>
  // CHECK: %[[G:.*]] = array.multiply %[[ONE]], %[[E]]
  // CHECK-NEXT: return %[[E]], %[[G]]
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[]>):
    %0 = array.exp %a : <f32[]>
    array.yield %0 : !spmd.array<f32[]>
  } : (!spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
  return %g#0, %g#1 : !spmd.array<f32[]>, !spmd.array<f32[]>
}

// If the value is unused, operations that only the value needs are removed.
// CHECK-LABEL: func.func @dead_forward_values_are_removed
func.func @dead_forward_values_are_removed(%x: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
  // CHECK-NOT: array.sin
  // CHECK: array.cos %arg0
  // CHECK-NOT: array.sin
  // CHECK: return
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[]>):
    %0 = array.sin %a : <f32[]>
    array.yield %0 : !spmd.array<f32[]>
  } : (!spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
  return %g#1 : !spmd.array<f32[]>
}

// Operations that do not depend on the arguments are constants of the derivative, also as operands.
// CHECK-LABEL: func.func @captured_values_are_constants
func.func @captured_values_are_constants(%x: !spmd.array<f32[]>, %y: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
  // CHECK: %[[T:.*]] = array.tanh %arg1
  // CHECK: %[[S:.*]] = array.multiply %[[T]], %arg0
  // CHECK: %[[G:.*]] = array.multiply %{{.*}}, %[[S]]
  // CHECK-NEXT: return %[[G]]
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[]>):
    %0 = array.tanh %y : <f32[]>
    %1 = array.multiply %0, %x : <f32[]>
    %2 = array.multiply %a, %1 : <f32[]>
    array.yield %2 : !spmd.array<f32[]>
  } : (!spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
  return %g#1 : !spmd.array<f32[]>
}

// Steps and stop_gradient have derivative zero; an argument without a cotangent has the gradient zero.
// CHECK-LABEL: func.func @nothing_flows_through_stop_gradient
func.func @nothing_flows_through_stop_gradient(%x: !spmd.array<f32[2]>) -> !spmd.array<f32[2]> {
  // CHECK-NEXT: %[[ZERO:.*]] = array.constant dense<0.000000e+00> : tensor<2xf32>
  // CHECK-NEXT: return %[[ZERO]]
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[2]>):
    %0 = array.stop_gradient %a : <f32[2]>
    %1 = array.floor %a : <f32[2]>
    %2 = array.add %0, %1 : <f32[2]>
    %3 = array.reduce sum %2 dims [0] : <f32[2]> -> <f32[]>
    array.yield %3 : !spmd.array<f32[]>
  } : (!spmd.array<f32[2]>) -> (!spmd.array<f32[]>, !spmd.array<f32[2]>)
  return %g#1 : !spmd.array<f32[2]>
}

// Outside of derivatives, checkpoint and stop_gradient are removed.
// CHECK-LABEL: func.func @markers_vanish
func.func @markers_vanish(%x: !spmd.array<f32[2]>) -> !spmd.array<f32[2]> {
  // CHECK-NEXT: %[[S:.*]] = array.sin %arg0
  // CHECK-NEXT: return %[[S]]
  %0 = array.checkpoint {
    %1 = array.stop_gradient %x : <f32[2]>
    %2 = array.sin %1 : <f32[2]>
    array.yield %2 : !spmd.array<f32[2]>
  } : !spmd.array<f32[2]>
  return %0 : !spmd.array<f32[2]>
}

// A checkpoint's values are recomputed behind a barrier where the derivative needs them: only the argument is live in
// between.
// CHECK-LABEL: func.func @checkpoints_are_computed_again
func.func @checkpoints_are_computed_again(%x: !spmd.array<f32[2]>) -> !spmd.array<f32[2]> {
  // CHECK: %[[B:.*]] = array.optimization_barrier %arg0
  // CHECK: %[[S:.*]] = array.sin %[[B]]
  // CHECK: array.cos %[[S]]
  // CHECK: array.cos %[[B]]
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[2]>):
    %0 = array.checkpoint {
      %1 = array.sin %a : <f32[2]>
      %2 = array.sin %1 : <f32[2]>
      array.yield %2 : !spmd.array<f32[2]>
    } : !spmd.array<f32[2]>
    %3 = array.reduce sum %0 dims [0] : <f32[2]> -> <f32[]>
    array.yield %3 : !spmd.array<f32[]>
  } : (!spmd.array<f32[2]>) -> (!spmd.array<f32[]>, !spmd.array<f32[2]>)
  return %g#1 : !spmd.array<f32[2]>
}

// The derivative of a derivative: only -sin is left of both.
// CHECK-LABEL: func.func @second_derivative
func.func @second_derivative(%x: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
  // CHECK: %[[S:.*]] = array.sin %arg0
  // CHECK: array.negate
  // CHECK: return
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[]>):
    %h:2 = array.gradient(%a) {
    ^bb0(%b: !spmd.array<f32[]>):
      %0 = array.sin %b : <f32[]>
      array.yield %0 : !spmd.array<f32[]>
    } : (!spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
    array.yield %h#1 : !spmd.array<f32[]>
  } : (!spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
  return %g#1 : !spmd.array<f32[]>
}

// Two uses with one annotation: their sum is constrained, not each of them.
// CHECK-LABEL: func.func @cotangents_are_summed_before_they_are_constrained
func.func @cotangents_are_summed_before_they_are_constrained(%x: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
  // CHECK: %[[SUM:.*]] = array.add
  // CHECK-NEXT: %[[G:.*]] = spmd.constraint %[[SUM]] derived : <f32[4]> -> <f32[4@_]>
  // CHECK-NEXT: %[[OPEN:.*]] = spmd.constraint %[[G]] : <f32[4@_]> -> <f32[4]>
  // CHECK-NEXT: return %[[OPEN]]
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[4]>):
    %0 = spmd.constraint %a : <f32[4]> -> <f32[4@_]>
    %1 = spmd.constraint %a : <f32[4]> -> <f32[4@_]>
    %2 = array.sin %0 : (<f32[4@_]>) -> <f32[4]>
    %3 = array.exp %1 : (<f32[4@_]>) -> <f32[4]>
    %4 = array.multiply %2, %3 : <f32[4]>
    %5 = array.reduce sum %4 dims [0] : <f32[4]> -> <f32[]>
    array.yield %5 : !spmd.array<f32[]>
  } : (!spmd.array<f32[4]>) -> (!spmd.array<f32[]>, !spmd.array<f32[4]>)
  return %g#1 : !spmd.array<f32[4]>
}

// The loop stacks the values that the backward loop reads: row i is written in iteration i. Loop-invariant values (the
// sine of y) and cheap ones (the counter's float) are not stacked.
// CHECK-LABEL: func.func @loop
func.func @loop(%x: !spmd.array<f32[4]>, %y: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
  // CHECK: array.sin %arg1
  // CHECK: %[[F:.*]]:2 = array.for 2 to 7(%arg0, %{{.*}}) {
  // CHECK: ^bb0(%[[I:.*]]: !spmd.array<i32[]>, %[[C:.*]]: !spmd.array<f32[4]>, %[[STACK:.*]]: !spmd.array<f32[5, 4]>):
  // CHECK: %[[ROW:.*]] = array.subtract %[[I]]
  // CHECK: %[[NEW:.*]] = array.reshape %[[C]] : <f32[4]> -> <f32[1, 4]>
  // CHECK: array.dynamic_update_slice %[[STACK]], %[[NEW]] at(%[[ROW]]
  // CHECK: array.for 0 to 5(
  // CHECK: %[[DOWN:.*]] = array.subtract
  // CHECK: %[[LEFT:.*]] = array.subtract
  // CHECK: array.convert %[[DOWN]]
  // CHECK: array.dynamic_slice %[[F]]#1 at(%[[LEFT]]
  // CHECK-NOT: array.dynamic_slice
  // CHECK: return
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[4]>):
    %r = array.for 2 to 7 (%a) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[4]>):
      %s = array.sin %y : <f32[4]>
      %f = array.convert %i : <i32[]> -> <f32[]>
      %b = array.broadcast_in_dim %f dims [] : <f32[]> -> <f32[4]>
      %0 = array.multiply %c, %c : <f32[4]>
      %1 = array.multiply %0, %s : <f32[4]>
      %2 = array.multiply %1, %b : <f32[4]>
      array.yield %2 : !spmd.array<f32[4]>
    } : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    %3 = array.reduce sum %r dims [0] : <f32[4]> -> <f32[]>
    array.yield %3 : !spmd.array<f32[]>
  } : (!spmd.array<f32[4]>) -> (!spmd.array<f32[]>, !spmd.array<f32[4]>)
  return %g#1 : !spmd.array<f32[4]>
}

// A linear body needs no values of the forward pass, which is removed.
// CHECK-LABEL: func.func @linear_loop
func.func @linear_loop(%x: !spmd.array<f32[4]>, %y: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
  // CHECK-COUNT-1: array.for
  // CHECK-NOT: array.for
  // CHECK: return
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[4]>):
    %r = array.for 0 to 7 (%a) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[4]>):
      %0 = array.multiply %c, %y : <f32[4]>
      array.yield %0 : !spmd.array<f32[4]>
    } : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    %3 = array.reduce sum %r dims [0] : <f32[4]> -> <f32[]>
    array.yield %3 : !spmd.array<f32[]>
  } : (!spmd.array<f32[4]>) -> (!spmd.array<f32[]>, !spmd.array<f32[4]>)
  return %g#1 : !spmd.array<f32[4]>
}

// An iteration's contribution to a row of the stacked parameters' cotangent is added in place.
// CHECK-LABEL: func.func @rows_of_parameters
func.func @rows_of_parameters(%w: !spmd.array<f32[5, 4]>, %x: !spmd.array<f32[4]>) -> !spmd.array<f32[5, 4]> {
  // CHECK: array.for 0 to 5(
  // CHECK: array.for 0 to 5(
  // CHECK: ^bb0(%{{.*}}, %{{.*}}, %[[SUM:.*]]: !spmd.array<f32[5, 4]>):
  // CHECK: %[[OLD:.*]] = array.dynamic_slice %[[SUM]] at(%[[I:.*]], %{{.*}}) sizes [1, 4]
  // CHECK: %[[NEW:.*]] = array.add %[[OLD]]
  // CHECK: array.dynamic_update_slice %[[SUM]], %[[NEW]] at(%[[I]]
  %zero = array.constant dense<0> : tensor<i32> -> <i32[]>
  %g:2 = array.gradient(%w) {
  ^bb0(%a: !spmd.array<f32[5, 4]>):
    %r = array.for 0 to 5 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[4]>):
      %row = array.dynamic_slice %a at(%i, %zero) sizes [1, 4] : (!spmd.array<f32[5, 4]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[1, 4]>
      %v = array.reshape %row : <f32[1, 4]> -> <f32[4]>
      %0 = array.multiply %c, %v : <f32[4]>
      array.yield %0 : !spmd.array<f32[4]>
    } : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    %3 = array.reduce sum %r dims [0] : <f32[4]> -> <f32[]>
    array.yield %3 : !spmd.array<f32[]>
  } : (!spmd.array<f32[5, 4]>) -> (!spmd.array<f32[]>, !spmd.array<f32[5, 4]>)
  return %g#1 : !spmd.array<f32[5, 4]>
}

// The if returns the values of the branch that ran: one slot for one branch's sine and the other's square.
// CHECK-LABEL: func.func @branch
func.func @branch(%x: !spmd.array<f32[4]>, %p: !spmd.array<bool[]>) -> !spmd.array<f32[4]> {
  // CHECK: %[[F:.*]]:2 = array.if %arg1 {
  // CHECK: %[[SIN:.*]] = array.sin
  // CHECK: array.yield %{{.*}}, %[[SIN]]
  // CHECK: %[[EXP:.*]] = array.exp
  // CHECK: array.yield %{{.*}}, %[[EXP]]
  // CHECK: array.if %arg1 {
  // CHECK: array.multiply %{{.*}}, %[[F]]#1
  // CHECK: } else {
  // CHECK: array.multiply %{{.*}}, %[[F]]#1
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[4]>):
    %r = array.if %p {
      %0 = array.sin %a : <f32[4]>
      %1 = array.multiply %0, %0 : <f32[4]>
      array.yield %1 : !spmd.array<f32[4]>
    } else {
      %0 = array.exp %a : <f32[4]>
      array.yield %0 : !spmd.array<f32[4]>
    } : (!spmd.array<bool[]>) -> !spmd.array<f32[4]>
    %3 = array.reduce sum %r dims [0] : <f32[4]> -> <f32[]>
    array.yield %3 : !spmd.array<f32[]>
  } : (!spmd.array<f32[4]>) -> (!spmd.array<f32[]>, !spmd.array<f32[4]>)
  return %g#1 : !spmd.array<f32[4]>
}

// -----

// w is replicated, so its cotangent is summed over devices; x is sharded, so its cotangent is not. Values that the
// backward region needs are passed to it in their sharding.
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  // CHECK-LABEL: func.func @manual
  func.func @manual(%x: !spmd.array<f32[4@a]>, %w: !spmd.array<f32[2@_]>) -> (!spmd.array<f32[4]>, !spmd.array<f32[2]>) {
    // CHECK: %[[F:.*]]:2 = spmd.manual(%arg0, %arg1)
    // CHECK: %[[SIN:.*]] = array.sin
    // CHECK: spmd.yield %{{.*}}, %[[SIN]]
    // CHECK: (!spmd.array<f32[4@a]>, !spmd.array<f32[2@_]>) -> (!spmd.array<f32[4@a]>, !spmd.array<f32[4@a]>)
    // CHECK: spmd.manual(%{{.*}}, %arg1, %[[F]]#1, %arg0)
    // CHECK-COUNT-1: spmd.all_reduce sum
    // CHECK-NOT: spmd.all_reduce
    // CHECK: return
    %g:3 = array.gradient(%x, %w) {
    ^bb0(%a: !spmd.array<f32[4@a]>, %b: !spmd.array<f32[2@_]>):
      %r = spmd.manual(%a, %b) {
      ^bb0(%p: !spmd.array<f32[2]>, %q: !spmd.array<f32[2]>):
        %0 = array.sin %p : <f32[2]>
        %1 = array.multiply %0, %q : <f32[2]>
        %2 = array.add %1, %q : <f32[2]>
        spmd.yield %2 : !spmd.array<f32[2]>
      } : (!spmd.array<f32[4@a]>, !spmd.array<f32[2@_]>) -> !spmd.array<f32[4@a]>
      %3 = array.reduce sum %r dims [0] : <f32[4@a]> -> <f32[]>
      array.yield %3 : !spmd.array<f32[]>
    } : (!spmd.array<f32[4@a]>, !spmd.array<f32[2@_]>) -> (!spmd.array<f32[]>, !spmd.array<f32[4]>, !spmd.array<f32[2]>)
    return %g#1, %g#2 : !spmd.array<f32[4]>, !spmd.array<f32[2]>
  }
}

// -----

func.func @unbounded(%x: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[]>):
    // expected-error @+1 {{'while' has no derivative: how often it runs is not known before it runs, so there is no room for the values that the backward pass needs; use 'for' with constant bounds, and keep the carries with where once it is done}}
    %0 = array.while (%a) {
    ^bb0(%c: !spmd.array<f32[]>):
      %p = array.compare lt %c, %x : <f32[]>, <f32[]> -> <bool[]>
      array.yield %p : !spmd.array<bool[]>
    } do {
    ^bb0(%c: !spmd.array<f32[]>):
      %1 = array.multiply %c, %c : <f32[]>
      array.yield %1 : !spmd.array<f32[]>
    } : (!spmd.array<f32[]>) -> !spmd.array<f32[]>
    array.yield %0 : !spmd.array<f32[]>
  } : (!spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
  return %g#1 : !spmd.array<f32[]>
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @products_of_devices(%x: !spmd.array<f32[4@a]>) -> !spmd.array<f32[4]> {
    %g:2 = array.gradient(%x) {
    ^bb0(%a: !spmd.array<f32[4@a]>):
      %r = spmd.manual(%a) {
      ^bb0(%p: !spmd.array<f32[2]>):
        // expected-error @+1 {{'all_reduce' of this kind has no derivative}}
        %0 = spmd.all_reduce prod %p over <a> : <f32[2]> -> <f32[2]>
        spmd.yield %0 : !spmd.array<f32[2]>
      } : (!spmd.array<f32[4@a]>) -> !spmd.array<f32[2@_]>
      %3 = array.reduce sum %r dims [0] : <f32[2@_]> -> <f32[]>
      array.yield %3 : !spmd.array<f32[]>
    } : (!spmd.array<f32[4@a]>) -> (!spmd.array<f32[]>, !spmd.array<f32[4]>)
    return %g#1 : !spmd.array<f32[4]>
  }
}

// -----

func.func @no_derivative(%x: !spmd.array<f32[]>) -> !spmd.array<f32[]> {
  %g:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[]>):
    // expected-error @+1 {{'reshard' has no derivative}}
    %0 = spmd.reshard %a : <f32[]> -> <f32[]>
    array.yield %0 : !spmd.array<f32[]>
  } : (!spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
  return %g#1 : !spmd.array<f32[]>
}
