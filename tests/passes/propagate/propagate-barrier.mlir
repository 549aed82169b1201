// Directions of propagation through a barrier: Shardy's propagation_barrier, whose allowed_direction is an attribute of
// array.optimization_barrier here. The operand gets a from its producer, the result gets b from its user.
// RUN: spmd-opt %s --split-input-file --spmdc-propagate | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-propagate=strategy=basic | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-propagate=strategy=aggressive | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-propagate --spmdc-insert-reshards --spmdc-partition --canonicalize --cse --spmdc-drop-barriers --spmdc-verify-partitioned | FileCheck %s --check-prefix=LOCAL

module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=4>} {

// CHECK-LABEL: func.func @both_ways
// CHECK: array.sin %arg0 : <f32[8@a, 8@b]>
// CHECK: array.optimization_barrier %{{.*}} : <f32[8@a, 8@b]>
// CHECK: array.exp %{{.*}} : <f32[8@a, 8@b]>
func.func @both_ways(%x: !spmd.array<f32[8@a, 8]>) -> !spmd.array<f32[8, 8@b]> {
  %0 = array.sin %x : (<f32[8@a, 8]>) -> <f32[8, 8]>
  %1 = array.optimization_barrier %0 : <f32[8, 8]>
  %2 = array.exp %1 : <f32[8, 8]>
  %3 = spmd.constraint %2 : <f32[8, 8]> -> <f32[8, 8@b]>
  return %3 : !spmd.array<f32[8, 8@b]>
}

// CHECK-LABEL: func.func @forward
// CHECK: array.sin %arg0 : <f32[8@a, 8@_]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "forward"{{.*}}} : (<f32[8@a, 8@_]>) -> <f32[8@a, 8@b]>
// CHECK: array.exp %{{.*}} : <f32[8@a, 8@b]>
func.func @forward(%x: !spmd.array<f32[8@a, 8]>) -> !spmd.array<f32[8, 8@b]> {
  %0 = array.sin %x : (<f32[8@a, 8]>) -> <f32[8, 8]>
  %1 = array.optimization_barrier %0 {spmd.allowed_direction = "forward"} : <f32[8, 8]>
  %2 = array.exp %1 : <f32[8, 8]>
  %3 = spmd.constraint %2 : <f32[8, 8]> -> <f32[8, 8@b]>
  return %3 : !spmd.array<f32[8, 8@b]>
}

// CHECK-LABEL: func.func @backward
// CHECK: array.sin %arg0 : <f32[8@a, 8@b]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "backward"{{.*}}} : (<f32[8@a, 8@b]>) -> <f32[8@_, 8@b]>
// CHECK: array.exp %{{.*}} : <f32[8@_, 8@b]>
func.func @backward(%x: !spmd.array<f32[8@a, 8]>) -> !spmd.array<f32[8, 8@b]> {
  %0 = array.sin %x : (<f32[8@a, 8]>) -> <f32[8, 8]>
  %1 = array.optimization_barrier %0 {spmd.allowed_direction = "backward"} : <f32[8, 8]>
  %2 = array.exp %1 : <f32[8, 8]>
  %3 = spmd.constraint %2 : <f32[8, 8]> -> <f32[8, 8@b]>
  return %3 : !spmd.array<f32[8, 8@b]>
}

// If the two sides differ, one collective reshards before or after the barrier.
// CHECK-LABEL: func.func @none
// CHECK: array.sin %arg0 : <f32[8@a, 8@_]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "none"{{.*}}} : (<f32[8@a, 8@_]>) -> <f32[8@_, 8@b]>
// CHECK: array.exp %{{.*}} : <f32[8@_, 8@b]>
// LOCAL-LABEL: func.func @none
// LOCAL: spmd.{{all_gather|all_to_all|exchange}}
// LOCAL-NOT: optimization_barrier
// LOCAL: return %{{.*}} : !spmd.array<f32[8, 2]>
func.func @none(%x: !spmd.array<f32[8@a, 8]>) -> !spmd.array<f32[8, 8@b]> {
  %0 = array.sin %x : (<f32[8@a, 8]>) -> <f32[8, 8]>
  %1 = array.optimization_barrier %0 {spmd.allowed_direction = "none"} : <f32[8, 8]>
  %2 = array.exp %1 : <f32[8, 8]>
  %3 = spmd.constraint %2 : <f32[8, 8]> -> <f32[8, 8@b]>
  return %3 : !spmd.array<f32[8, 8@b]>
}
}

// -----

// The cases of Shardy's basic_propagation, propagation_barrier_*.
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2, c=2>} {

// CHECK-LABEL: func.func @backward_just_arg
// CHECK-SAME: %arg0: !spmd.array<f32[8@a, 8@c]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "backward"{{.*}}} : (<f32[8@a, 8@c]>) -> <f32[8@_, 8@_]>
func.func @backward_just_arg(%x: !spmd.array<f32[8@"a?", 8@"c?"]>) -> !spmd.array<f32[8, 8]> {
  %0 = array.optimization_barrier %x {spmd.allowed_direction = "backward"} : (<f32[8@"a?", 8@"c?"]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// CHECK-LABEL: func.func @backward_just_result
// CHECK-SAME: %arg0: !spmd.array<f32[8@"(a, b)", 8@_]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "backward"{{.*}}} : <f32[8@"(a, b)", 8@_]>
func.func @backward_just_result(%x: !spmd.array<f32[8, 8]>) -> !spmd.array<f32[8@"(a, b)?", 8]> {
  %0 = array.optimization_barrier %x {spmd.allowed_direction = "backward"} : <f32[8, 8]>
  %r = spmd.constraint %0 : <f32[8, 8]> -> <f32[8@"(a, b)?", 8]>
  return %r : !spmd.array<f32[8@"(a, b)?", 8]>
}

// CHECK-LABEL: func.func @backward_two
// CHECK-SAME: %arg0: !spmd.array<f32[8@"(a, b)", 8@c]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "backward"{{.*}}} : (<f32[8@"(a, b)", 8@c]>) -> <f32[8@"(a, b)", 8@_]>
func.func @backward_two(%x: !spmd.array<f32[8@"a?", 8@"c?"]>) -> !spmd.array<f32[8@"(a, b)?", 8]> {
  %0 = array.optimization_barrier %x {spmd.allowed_direction = "backward"} : (<f32[8@"a?", 8@"c?"]>) -> <f32[8, 8]>
  %r = spmd.constraint %0 : <f32[8, 8]> -> <f32[8@"(a, b)?", 8]>
  return %r : !spmd.array<f32[8@"(a, b)?", 8]>
}

// CHECK-LABEL: func.func @backward_multiple_uses
// CHECK-SAME: %arg0: !spmd.array<f32[8@"(a, b)", 8@c]>
// CHECK: array.add %arg0, %arg0 : <f32[8@"(a, b)", 8@c]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "backward"{{.*}}} : (<f32[8@"(a, b)", 8@c]>) -> <f32[8@"(a, b)", 8@_]>
// CHECK-COUNT-2: array.{{add|multiply}} %{{.*}} : <f32[8@"(a, b)", 8@_]>
func.func @backward_multiple_uses(%x: !spmd.array<f32[8@"a?", 8@"c?"]>) -> (!spmd.array<f32[8@"(a, b)?", 8]>, !spmd.array<f32[8, 8]>) {
  %u = array.add %x, %x : (<f32[8@"a?", 8@"c?"]>, <f32[8@"a?", 8@"c?"]>) -> <f32[8, 8]>
  %0 = array.optimization_barrier %u {spmd.allowed_direction = "backward"} : <f32[8, 8]>
  %1 = array.add %0, %0 : <f32[8, 8]>
  %2 = array.multiply %0, %0 : <f32[8, 8]>
  %r = spmd.constraint %1 : <f32[8, 8]> -> <f32[8@"(a, b)?", 8]>
  return %r, %2 : !spmd.array<f32[8@"(a, b)?", 8]>, !spmd.array<f32[8, 8]>
}

// CHECK-LABEL: func.func @forward_just_arg
// CHECK-SAME: %arg0: !spmd.array<f32[8@a, 8@c]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "forward"{{.*}}} : <f32[8@a, 8@c]>
func.func @forward_just_arg(%x: !spmd.array<f32[8@"a?", 8@"c?"]>) -> !spmd.array<f32[8, 8]> {
  %0 = array.optimization_barrier %x {spmd.allowed_direction = "forward"} : (<f32[8@"a?", 8@"c?"]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}

// CHECK-LABEL: func.func @forward_just_result
// CHECK-SAME: %arg0: !spmd.array<f32[8@_, 8@_]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "forward"{{.*}}} : (<f32[8@_, 8@_]>) -> <f32[8@"(a, b)", 8@_]>
func.func @forward_just_result(%x: !spmd.array<f32[8, 8]>) -> !spmd.array<f32[8@"(a, b)?", 8]> {
  %0 = array.optimization_barrier %x {spmd.allowed_direction = "forward"} : <f32[8, 8]>
  %r = spmd.constraint %0 : <f32[8, 8]> -> <f32[8@"(a, b)?", 8]>
  return %r : !spmd.array<f32[8@"(a, b)?", 8]>
}

// CHECK-LABEL: func.func @forward_two
// CHECK-SAME: %arg0: !spmd.array<f32[8@a, 8@c]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "forward"{{.*}}} : (<f32[8@a, 8@c]>) -> <f32[8@"(a, b)", 8@c]>
func.func @forward_two(%x: !spmd.array<f32[8@"a?", 8@"c?"]>) -> !spmd.array<f32[8@"(a, b)?", 8]> {
  %0 = array.optimization_barrier %x {spmd.allowed_direction = "forward"} : (<f32[8@"a?", 8@"c?"]>) -> <f32[8, 8]>
  %r = spmd.constraint %0 : <f32[8, 8]> -> <f32[8@"(a, b)?", 8]>
  return %r : !spmd.array<f32[8@"(a, b)?", 8]>
}

// CHECK-LABEL: func.func @forward_multiple_uses
// CHECK-SAME: %arg0: !spmd.array<f32[8@a, 8@c]>
// CHECK: array.add %arg0, %arg0 : <f32[8@a, 8@c]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "forward"{{.*}}} : (<f32[8@a, 8@c]>) -> <f32[8@"(a, b)", 8@c]>
// CHECK-COUNT-2: array.{{add|multiply}} %{{.*}} : <f32[8@"(a, b)", 8@c]>
func.func @forward_multiple_uses(%x: !spmd.array<f32[8@"a?", 8@"c?"]>) -> (!spmd.array<f32[8@"(a, b)?", 8]>, !spmd.array<f32[8, 8]>) {
  %u = array.add %x, %x : (<f32[8@"a?", 8@"c?"]>, <f32[8@"a?", 8@"c?"]>) -> <f32[8, 8]>
  %0 = array.optimization_barrier %u {spmd.allowed_direction = "forward"} : <f32[8, 8]>
  %1 = array.add %0, %0 : <f32[8, 8]>
  %2 = array.multiply %0, %0 : <f32[8, 8]>
  %r = spmd.constraint %1 : <f32[8, 8]> -> <f32[8@"(a, b)?", 8]>
  return %r, %2 : !spmd.array<f32[8@"(a, b)?", 8]>, !spmd.array<f32[8, 8]>
}

// CHECK-LABEL: func.func @none_two
// CHECK-SAME: %arg0: !spmd.array<f32[8@a, 8@c]>
// CHECK: array.optimization_barrier %{{.*}} {spmd.allowed_direction = "none"{{.*}}} : (<f32[8@a, 8@c]>) -> <f32[8@"(a, b)", 8@_]>
func.func @none_two(%x: !spmd.array<f32[8@"a?", 8@"c?"]>) -> !spmd.array<f32[8@"(a, b)?", 8]> {
  %0 = array.optimization_barrier %x {spmd.allowed_direction = "none"} : (<f32[8@"a?", 8@"c?"]>) -> <f32[8, 8]>
  %r = spmd.constraint %0 : <f32[8, 8]> -> <f32[8@"(a, b)?", 8]>
  return %r : !spmd.array<f32[8@"(a, b)?", 8]>
}
}
