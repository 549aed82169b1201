// RUN: spmd-opt %s --spmdc-verify-plan --split-input-file --verify-diagnostics

// Two values that are live at the same time must not share bytes.
func.func @shared(%x: !spmd.array<f32[32]>) -> !spmd.array<f32[32]> {
  // expected-note @+1 {{the other value is defined here}}
  %0 = plan.copy %x {buffers = [#plan.buffer<"arena", 0>]} : <f32[32]> -> <f32[32]>
  // expected-error @+1 {{shares memory with a value that is live at the same time}}
  %1 = plan.copy %x {buffers = [#plan.buffer<"arena", 64>]} : <f32[32]> -> <f32[32]>
  %2 = plan.launch @add(%0, %1) {buffers = [#plan.buffer<"result", 0>]} : (!spmd.array<f32[32]>, !spmd.array<f32[32]>) -> !spmd.array<f32[32]>
  return %2 : !spmd.array<f32[32]>
}
plan.kernel @add(%x: !spmd.array<f32[32]>, %y: !spmd.array<f32[32]>) {
  %1 = array.add %x, %y : <f32[32]>
  plan.return %1 : !spmd.array<f32[32]>
}

// -----

func.func @no_step(%x: !spmd.array<f32[32]>) -> !spmd.array<f32[32]> {
  // expected-error @+1 {{is left among the steps of the plan}}
  %0 = array.exp %x : <f32[32]>
  return %0 : !spmd.array<f32[32]>
}

// -----

func.func @no_buffers(%x: !spmd.array<f32[32]>) -> !spmd.array<f32[32]> {
  // expected-error @+1 {{has no buffers}}
  %0 = plan.copy %x : <f32[32]> -> <f32[32]>
  return %0 : !spmd.array<f32[32]>
}

// -----

// The numbers of transfers increase.
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
func.func @numbers(%x: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
  // expected-note @+1 {{number 1 is here}}
  %0 = plan.start 1(%x : <f32[4]>) {
  ^bb0(%a: !spmd.array<f32[4]>):
    %2 = spmd.all_reduce sum %a over <a> : <f32[4]> -> <f32[4]>
    plan.yield %2 : !spmd.array<f32[4]>
  } {buffers = [#plan.buffer<"arena", 0>]}
  %1 = plan.done %0 : <f32[4]>
  // expected-error @+1 {{has number 0 after number 1}}
  %3 = plan.start 0(%1 : <f32[4]>) {
  ^bb0(%a: !spmd.array<f32[4]>):
    %4 = spmd.all_reduce sum %a over <a> : <f32[4]> -> <f32[4]>
    plan.yield %4 : !spmd.array<f32[4]>
  } {buffers = [#plan.buffer<"result", 0>]}
  %5 = plan.done %3 : <f32[4]>
  return %5 : !spmd.array<f32[4]>
}
}

// -----

// A loop starts from its initial value in the memory of its result.
func.func @carry_elsewhere(%x: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
  // expected-note @+1 {{the value is defined here}}
  %0 = plan.copy %x {buffers = [#plan.buffer<"arena", 0>]} : <f32[4]> -> <f32[4]>
  // expected-error @+1 {{has value 0 in another buffer than its result}}
  %1 = plan.for 0 to 9 (%0) {
  ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[4]>):
    plan.yield %c : !spmd.array<f32[4]>
  } {buffers = [#plan.buffer<"arena", 128>, #plan.buffer<"result", 0>]} : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
  return %1 : !spmd.array<f32[4]>
}

// -----

// A compiled loop has no step that its function cannot run.
func.func @sorts(%x: !spmd.array<f32[1, 4, 1]>) -> !spmd.array<f32[1, 4, 1]> {
  %0 = plan.copy %x {buffers = [#plan.buffer<"result", 0>]} : <f32[1, 4, 1]> -> <f32[1, 4, 1]>
  %1 = plan.for 0 to 100(%0) {
  ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[1, 4, 1]>):
    // expected-error @+1 {{is a function of the runtime's library, which a compiled loop cannot have}}
    %2 = plan.library "sort"(%c) sizes [1, 4, 1] {buffers = [#plan.buffer<"arena", 64>]} : (!spmd.array<f32[1, 4, 1]>) -> !spmd.array<f32[1, 4, 1]>
    %3 = plan.copy %2 {buffers = [#plan.buffer<"result", 0>]} : <f32[1, 4, 1]> -> <f32[1, 4, 1]>
    plan.yield %3 : !spmd.array<f32[1, 4, 1]>
  } {buffers = [#plan.buffer<"arena", 0>, #plan.buffer<"result", 0>], compiled} : (!spmd.array<f32[1, 4, 1]>) -> !spmd.array<f32[1, 4, 1]>
  return %1 : !spmd.array<f32[1, 4, 1]>
}
