// RUN: spmd-opt %s --spmdc-schedule-kernels --spmdc-assign-buffers --spmdc-verify-plan --split-input-file | FileCheck %s

// A chain of element-wise kernels needs one buffer of the arena; the last value is in the result.
// CHECK-LABEL: func.func @a_chain_reuses_memory
func.func @a_chain_reuses_memory(%x: !spmd.array<f32[32]>) -> !spmd.array<f32[32]> {
  // CHECK: plan.launch @exp(%arg0) {buffers = [#plan.buffer<"arena", 0>]}
  // CHECK: plan.launch @exp({{.*}}) {buffers = [#plan.buffer<"arena", 0>]}
  // CHECK: plan.launch @exp({{.*}}) {buffers = [#plan.buffer<"arena", 0>]}
  // CHECK: plan.launch @exp({{.*}}) {buffers = [#plan.buffer<"result", 0>]}
  %0 = plan.launch @exp(%x) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
  %1 = plan.launch @exp(%0) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
  %2 = plan.launch @exp(%1) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
  %3 = plan.launch @exp(%2) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
  return %3 : !spmd.array<f32[32]>
}

// A value that is read through a reshape is live until then.
// CHECK-LABEL: func.func @a_reshape_keeps_its_operand_alive
func.func @a_reshape_keeps_its_operand_alive(%x: !spmd.array<f32[32]>) -> !spmd.array<f32[32]> {
  // CHECK: plan.launch @exp(%arg0) {buffers = [#plan.buffer<"arena", 0>]}
  // CHECK: plan.launch @exp(%arg0) {buffers = [#plan.buffer<"arena", 128>]}
  // CHECK: plan.launch @add
  %0 = plan.launch @exp(%x) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
  %r = array.reshape %0 : <f32[32]> -> <f32[4, 8]>
  %1 = plan.launch @exp(%x) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
  %2 = plan.launch @add(%r, %1) : (!spmd.array<f32[4, 8]>, !spmd.array<f32[32]>) -> !spmd.array<f32[32]>
  return %2 : !spmd.array<f32[32]>
}

plan.kernel @exp(%x: !spmd.array<f32[32]>) {
  %0 = array.exp %x : <f32[32]>
  plan.return %0 : !spmd.array<f32[32]>
}
plan.kernel @add(%x: !spmd.array<f32[4, 8]>, %y: !spmd.array<f32[32]>) {
  %0 = array.reshape %x : <f32[4, 8]> -> <f32[32]>
  %1 = array.add %0, %y : <f32[32]>
  plan.return %1 : !spmd.array<f32[32]>
}

// -----

// A reversal would read elements that it has overwritten: they share no memory; the first buffer is used again later.
// CHECK-LABEL: func.func @not_in_place
// CHECK: plan.launch @k(%arg0) {buffers = [#plan.buffer<"arena", 0>]}
// CHECK-NEXT: plan.launch @k(%0) {buffers = [#plan.buffer<"arena", 1024>]}
// CHECK-NEXT: plan.launch @k(%1) {buffers = [#plan.buffer<"arena", 0>]}
module {
  func.func @not_in_place(%x: !spmd.array<f32[250]>) -> !spmd.array<f32[250]> {
    %0 = plan.launch @k(%x) : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
    %1 = plan.launch @k(%0) : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
    %2 = plan.launch @k(%1) : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
    %3 = plan.launch @k(%2) : (!spmd.array<f32[250]>) -> !spmd.array<f32[250]>
    return %3 : !spmd.array<f32[250]>
  }
  plan.kernel @k(%x: !spmd.array<f32[250]>) {
    %0 = array.reverse %x dims [0] : <f32[250]> -> <f32[250]>
    plan.return %0 : !spmd.array<f32[250]>
  }
}

// -----

// Before a result is written, its memory has other values: one at a time, and none that the step reads that writes the result.
// CHECK-LABEL: func.func @results_have_room
module {
  func.func @results_have_room(%x: !spmd.array<f32[32]>) -> (!spmd.array<f32[64]> {spmd.name = "r"}, !spmd.array<f32[32]> {spmd.name = "s"}) {
    // CHECK: plan.launch @reverse(%arg0) {buffers = [#plan.buffer<"result", 1>]}
    // CHECK-NEXT: plan.launch @reverse(%0) {buffers = [#plan.buffer<"arena", 0>]}
    // CHECK-NEXT: plan.launch @reverse(%1) {buffers = [#plan.buffer<"arena", 128>]}
    // CHECK-NEXT: plan.launch @join(%1, %2) {buffers = [#plan.buffer<"result", 0>]}
    // CHECK-NEXT: plan.launch @reverse(%2) {buffers = [#plan.buffer<"result", 1>]}
    %0 = plan.launch @reverse(%x) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
    %1 = plan.launch @reverse(%0) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
    %2 = plan.launch @reverse(%1) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
    %3 = plan.launch @join(%1, %2) : (!spmd.array<f32[32]>, !spmd.array<f32[32]>) -> !spmd.array<f32[64]>
    %4 = plan.launch @reverse(%2) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
    return %3, %4 : !spmd.array<f32[64]>, !spmd.array<f32[32]>
  }

  // The smallest result with room is taken. Result 0 may be the memory of %p, if that is donated, and has no other value;
  // %q is still read when result 1 is written.
  // CHECK-LABEL: func.func @parameters_may_be_donated
  // CHECK: plan.launch @reverse(%arg0) {buffers = [#plan.buffer<"result", 1>]}
  // CHECK-NEXT: plan.launch @reverse(%0) {buffers = [#plan.buffer<"result", 2>]}
  // CHECK-NEXT: plan.launch @reverse(%1) {buffers = [#plan.buffer<"result", 0>]}
  // CHECK-NEXT: plan.launch @reverse(%2) {buffers = [#plan.buffer<"result", 1>]}
  // CHECK-NEXT: plan.launch @join(%arg1, %3) {buffers = [#plan.buffer<"result", 2>]}
  func.func @parameters_may_be_donated(%p: !spmd.array<f32[32]> {spmd.name = "p"}, %q: !spmd.array<f32[32]> {spmd.name = "q"})
      -> (!spmd.array<f32[32]> {spmd.name = "p"}, !spmd.array<f32[32]> {spmd.name = "q"}, !spmd.array<f32[64]> {spmd.name = "r"}) {
    %0 = plan.launch @reverse(%p) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
    %1 = plan.launch @reverse(%0) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
    %2 = plan.launch @reverse(%1) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
    %3 = plan.launch @reverse(%2) : (!spmd.array<f32[32]>) -> !spmd.array<f32[32]>
    %4 = plan.launch @join(%q, %3) : (!spmd.array<f32[32]>, !spmd.array<f32[32]>) -> !spmd.array<f32[64]>
    return %2, %3, %4 : !spmd.array<f32[32]>, !spmd.array<f32[32]>, !spmd.array<f32[64]>
  }
  plan.kernel @reverse(%x: !spmd.array<f32[32]>) {
    %0 = array.reverse %x dims [0] : <f32[32]> -> <f32[32]>
    plan.return %0 : !spmd.array<f32[32]>
  }
  plan.kernel @join(%x: !spmd.array<f32[32]>, %y: !spmd.array<f32[32]>) {
    %0 = array.concatenate %x, %y dim 0 : !spmd.array<f32[32]>, !spmd.array<f32[32]> -> <f32[64]>
    plan.return %0 : !spmd.array<f32[64]>
  }
}
