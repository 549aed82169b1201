// RUN: spmd-opt %s --spmdc-schedule-kernels --spmdc-build-plan --spmdc-assign-buffers --spmdc-verify-plan --split-input-file | FileCheck %s

// An element-wise body works in the carry's memory, which is the result's: the initial value is written there, each iteration
// overwrites it, and nothing is copied.
// CHECK-LABEL: func.func @carries_in_place
// CHECK: %[[START:.*]] = plan.launch @k(%arg0) {buffers = [#plan.buffer<"result", 0>]}
// CHECK-NEXT: plan.for 0 to 9(%[[START]])
// CHECK-NEXT: ^bb0(%{{.*}}: !spmd.array<i32[]>, %[[C:.*]]: !spmd.array<f32[250]>):
// CHECK-NEXT: %[[N:.*]] = plan.launch @k(%[[C]]) {buffers = [#plan.buffer<"result", 0>]}
// CHECK-NEXT: plan.yield %[[N]]
// CHECK-NEXT: } {buffers = [#plan.buffer<"arena", 0>, #plan.buffer<"result", 0>]}
// CHECK-NOT: plan.copy
module {
  func.func @carries_in_place(%x: !spmd.array<f32[250]>) -> !spmd.array<f32[250]> {
    %0 = plan.launch @k(%x) : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
    %1 = array.for 0 to 9 (%0) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[250]>):
      %2 = plan.launch @k(%c) : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
      array.yield %2 : !spmd.array<f32[250]>
    } : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
    return %1 : !spmd.array<f32[250]>
  }
  plan.kernel @k(%x: !spmd.array<f32[250]>) {
    %0 = array.exp %x : <f32[250]>
    plan.return %0 : !spmd.array<f32[250]>
  }
}

// -----

// A body that reads all of the carry writes to another buffer, and one copy moves it back. An argument is never overwritten:
// it is copied before the loop.
// CHECK-LABEL: func.func @not_in_place
// CHECK: plan.copy %arg0 {buffers = [#plan.buffer<"result", 0>]}
// CHECK: plan.for
// CHECK: %[[N:.*]] = plan.launch @k(%{{.*}}) {buffers = [#plan.buffer<"arena", 0>]}
// CHECK-NEXT: %[[HOME:.*]] = plan.copy %[[N]] {buffers = [#plan.buffer<"result", 0>]}
// CHECK-NEXT: plan.yield %[[HOME]]
module {
  func.func @not_in_place(%x: !spmd.array<f32[250]>) -> !spmd.array<f32[250]> {
    %1 = array.for 0 to 9 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[250]>):
      %2 = plan.launch @k(%c) : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
      array.yield %2 : !spmd.array<f32[250]>
    } : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
    return %1 : !spmd.array<f32[250]>
  }
  plan.kernel @k(%x: !spmd.array<f32[250]>) {
    %0 = array.reverse %x dims [0] : <f32[250]> -> <f32[250]>
    plan.return %0 : !spmd.array<f32[250]>
  }
}

// -----

// Three carries rotate: one is saved, the others move.
// CHECK-LABEL: func.func @carries_change_places
// CHECK: ^bb0(%{{.*}}: !spmd.array<i32[]>, %[[X:.*]]: !spmd.array<f32[250]>, %[[Y:.*]]: !spmd.array<f32[250]>, %[[Z:.*]]: !spmd.array<f32[250]>):
// CHECK-NEXT: %[[SAVED:.*]] = plan.copy %{{.*}} {buffers = [#plan.buffer<"arena", 0>]}
// CHECK-COUNT-3: plan.copy %{{.*}} {buffers = [#plan.buffer<"result", {{[012]}}>]}
// CHECK-NEXT: plan.yield
module {
  func.func @carries_change_places(%x: !spmd.array<f32[250]>, %y: !spmd.array<f32[250]>, %z: !spmd.array<f32[250]>)
      -> (!spmd.array<f32[250]>, !spmd.array<f32[250]>, !spmd.array<f32[250]>) {
    %0:3 = array.for 0 to 9 (%x, %y, %z) {
    ^bb0(%i: !spmd.array<i32[]>, %a: !spmd.array<f32[250]>, %b: !spmd.array<f32[250]>, %c: !spmd.array<f32[250]>):
      array.yield %b, %c, %a : !spmd.array<f32[250]>, !spmd.array<f32[250]>, !spmd.array<f32[250]>
    } : (!spmd.array<f32[250]>, !spmd.array<f32[250]>, !spmd.array<f32[250]>)
      -> (!spmd.array<f32[250]>, !spmd.array<f32[250]>, !spmd.array<f32[250]>)
    return %0#0, %0#1, %0#2 : !spmd.array<f32[250]>, !spmd.array<f32[250]>, !spmd.array<f32[250]>
  }
}

// -----

// A library call in place has the buffer of the carry: an iteration touches only the elements that it writes.
// CHECK-LABEL: func.func @library_in_place
// CHECK: %[[START:.*]] = plan.copy %arg0 {buffers = [#plan.buffer<"result", 0>]}
// CHECK-NEXT: plan.for 0 to 9(%[[START]])
// CHECK: plan.library "scatter_add"{{.*}} {buffers = [#plan.buffer<"result", 0>]}
// CHECK-NEXT: plan.library "update_slice"{{.*}} {buffers = [#plan.buffer<"result", 0>]}
// CHECK-NOT: plan.copy
module {
  func.func @library_in_place(%x: !spmd.array<f32[250]>, %v: !spmd.array<f32[3]>, %n: !spmd.array<i32[3]>) -> !spmd.array<f32[250]> {
    %0 = array.for 0 to 9 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[250]>):
      %1 = plan.library "scatter_add"(%c, %n, %v) sizes [1, 250, 3, 1] : (!spmd.array<f32[250]>, !spmd.array<i32[3]>, !spmd.array<f32[3]>) -> !spmd.array<f32[250]>
      %2 = plan.library "update_slice"(%1, %v, %i) sizes [250, 3] : (!spmd.array<f32[250]>, !spmd.array<f32[3]>, !spmd.array<i32[]>) -> !spmd.array<f32[250]>
      array.yield %2 : !spmd.array<f32[250]>
    } : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
    return %0 : !spmd.array<f32[250]>
  }
}

// -----

// An array that the library call changes and also reads keeps its own buffer.
// CHECK-LABEL: func.func @library_reads_what_it_changes
// CHECK: plan.library "update_slice"{{.*}} {buffers = [#plan.buffer<"arena", {{[0-9]+}}>]}
// CHECK-NEXT: plan.copy {{.*}} {buffers = [#plan.buffer<"result", 0>]}
module {
  func.func @library_reads_what_it_changes(%x: !spmd.array<f32[250]>) -> !spmd.array<f32[250]> {
    %0 = array.for 0 to 9 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[250]>):
      %1 = plan.library "update_slice"(%c, %c, %i) sizes [250, 250] : (!spmd.array<f32[250]>, !spmd.array<f32[250]>, !spmd.array<i32[]>) -> !spmd.array<f32[250]>
      array.yield %1 : !spmd.array<f32[250]>
    } : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
    return %0 : !spmd.array<f32[250]>
  }
}

// -----

// A branch in a loop updates the carry in place in one region and does not change it in the other; an inner loop works on
// it too. Collectives are numbered in place, also in branches and loops.
// CHECK-LABEL: func.func @branches_and_inner_loops_in_place
// CHECK: plan.copy %arg0 {buffers = [#plan.buffer<"result", 0>]}
// CHECK-NOT: plan.copy
// CHECK: plan.start 0
// CHECK-NOT: plan.copy
// CHECK: plan.start 1
// CHECK-NOT: plan.copy
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @branches_and_inner_loops_in_place(%x: !spmd.array<f32[250]>, %p: !spmd.array<bool[]>) -> !spmd.array<f32[250]> {
    %1 = array.for 0 to 9 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[250]>):
      %2 = array.if %p {
        %3 = plan.launch @k(%c) : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
        array.yield %3 : !spmd.array<f32[250]>
      } else {
        array.yield %c : !spmd.array<f32[250]>
      } : (!spmd.array<bool[]>) -> !spmd.array<f32[250]>
      %4 = array.for 0 to 5 (%2) {
      ^bb0(%j: !spmd.array<i32[]>, %d: !spmd.array<f32[250]>):
        %5 = spmd.all_reduce sum %d over <a> : <f32[250]> -> <f32[250]>
        %6 = plan.launch @k2(%d, %5) : (!spmd.array<f32[250]>, !spmd.array<f32[250]>) -> !spmd.array<f32[250]>
        array.yield %6 : !spmd.array<f32[250]>
      } : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
      %7 = spmd.all_reduce sum %4 over <a> : <f32[250]> -> <f32[250]>
      %8 = plan.launch @k2(%4, %7) : (!spmd.array<f32[250]>, !spmd.array<f32[250]>) -> !spmd.array<f32[250]>
      array.yield %8 : !spmd.array<f32[250]>
    } : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
    return %1 : !spmd.array<f32[250]>
  }
  plan.kernel @k(%x: !spmd.array<f32[250]>) {
    %0 = array.exp %x : <f32[250]>
    plan.return %0 : !spmd.array<f32[250]>
  }
  plan.kernel @k2(%x: !spmd.array<f32[250]>, %y: !spmd.array<f32[250]>) {
    %0 = array.add %x, %y : <f32[250]>
    plan.return %0 : !spmd.array<f32[250]>
  }
}
