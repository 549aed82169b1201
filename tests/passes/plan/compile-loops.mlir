// RUN: spmd-opt %s --spmdc-schedule-kernels --spmdc-build-plan --spmdc-assign-buffers --spmdc-compile-loops --spmdc-verify-plan --split-input-file | FileCheck %s
// RUN: spmd-opt %s --spmdc-schedule-kernels --spmdc-build-plan --spmdc-assign-buffers --spmdc-compile-loops --split-input-file --debug-only=compile-loops 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE

// Of nested loops the outer one is a function.
// CHECK-LABEL: func.func @nested
// CHECK: plan.for 0 to 3
// CHECK: plan.for 0 to 100
// CHECK: } {buffers = [{{[^]]*}}]} : (!spmd.array<f32[8]>)
// CHECK: } {buffers = [{{[^]]*}}], compiled} : (!spmd.array<f32[8]>)
module {
  func.func @nested(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
    %1 = array.for 0 to 3 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8]>):
      %2 = array.for 0 to 100 (%c) {
      ^bb0(%j: !spmd.array<i32[]>, %d: !spmd.array<f32[8]>):
        %3 = plan.launch @k(%d) : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
        array.yield %3 : !spmd.array<f32[8]>
      } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
      array.yield %2 : !spmd.array<f32[8]>
    } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
    return %1 : !spmd.array<f32[8]>
  }
  plan.kernel @k(%x: !spmd.array<f32[8]>) {
    %0 = array.exp %x : <f32[8]>
    plan.return %0 : !spmd.array<f32[8]>
  }
}

// -----

// A print in the outer loop: the inner one is a function.
// CHECK-LABEL: func.func @inner
// CHECK: plan.for 0 to 100
// CHECK: compiled}
// CHECK: plan.print
// CHECK-NOT: compiled
// TRACE: for: not one function: a step (print) prints
module {
  func.func @inner(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
    %1 = array.for 0 to 3 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8]>):
      %2 = array.for 0 to 100 (%c) {
      ^bb0(%j: !spmd.array<i32[]>, %d: !spmd.array<f32[8]>):
        %3 = plan.launch @k(%d) : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
        array.yield %3 : !spmd.array<f32[8]>
      } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
      array.print ["x = ", ""] (%2) : !spmd.array<f32[8]>
      array.yield %2 : !spmd.array<f32[8]>
    } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
    return %1 : !spmd.array<f32[8]>
  }
  plan.kernel @k(%x: !spmd.array<f32[8]>) {
    %0 = array.exp %x : <f32[8]>
    plan.return %0 : !spmd.array<f32[8]>
  }
}

// -----

// Large arrays are for several threads, and a few steps are not worth a function.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: compiled
// TRACE: for: not one function: an iteration is worth more than one thread
// TRACE: for: not one function: it runs only 9 steps
module {
  func.func @stay(%x: !spmd.array<f32[100000]>) -> !spmd.array<f32[100000]> {
    %1 = array.for 0 to 900 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[100000]>):
      %2 = plan.launch @k(%c) : (!spmd.array<f32[100000]>) -> !spmd.array<f32[100000]>
      array.yield %2 : !spmd.array<f32[100000]>
    } : (!spmd.array<f32[100000]>) -> !spmd.array<f32[100000]>
    return %1 : !spmd.array<f32[100000]>
  }
  func.func @few(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
    %1 = array.for 0 to 9 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8]>):
      %2 = plan.launch @s(%c) : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
      array.yield %2 : !spmd.array<f32[8]>
    } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
    return %1 : !spmd.array<f32[8]>
  }
  plan.kernel @k(%x: !spmd.array<f32[100000]>) {
    %0 = array.exp %x : <f32[100000]>
    plan.return %0 : !spmd.array<f32[100000]>
  }
  plan.kernel @s(%x: !spmd.array<f32[8]>) {
    %0 = array.exp %x : <f32[8]>
    plan.return %0 : !spmd.array<f32[8]>
  }
}

// -----

// A function of the library has as few inputs as it needs.
// CHECK-LABEL: func.func @sorts
// CHECK-NOT: compiled
// TRACE: for: not one function: a step (library) is a function of the runtime's library
module {
  func.func @sorts(%x: !spmd.array<f32[1, 4, 1]>) -> !spmd.array<f32[1, 4, 1]> {
    %1 = array.for 0 to 900 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[1, 4, 1]>):
      %2 = plan.library "sort"(%c) sizes [1, 4, 1] : (!spmd.array<f32[1, 4, 1]>) -> !spmd.array<f32[1, 4, 1]>
      array.yield %2 : !spmd.array<f32[1, 4, 1]>
    } : (!spmd.array<f32[1, 4, 1]>) -> !spmd.array<f32[1, 4, 1]>
    return %1 : !spmd.array<f32[1, 4, 1]>
  }
}
