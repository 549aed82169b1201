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

// Without the value, nothing that only the value needs is computed.
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

// What does not depend on the arguments is a constant of the derivative, also where it is the operand itself.
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

// Steps and stop_gradient let nothing back; an argument that nothing reaches has the gradient zero.
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

// Outside of derivatives the markers vanish.
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

// A checkpoint's values are computed again, behind a barrier, where the derivative needs them: what lives in between is
// the argument alone.
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

// The derivative of a derivative: -sin is what is left of both.
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

// Two uses under one annotation: their sum is constrained, not each of them.
// CHECK-LABEL: func.func @cotangents_are_summed_before_they_are_constrained
func.func @cotangents_are_summed_before_they_are_constrained(%x: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
  // CHECK: %[[SUM:.*]] = array.add
  // CHECK-NEXT: %[[G:.*]] = spmd.constraint %[[SUM]] : <f32[4]> -> <f32[4@_]>
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
