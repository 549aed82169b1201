//===- Passes.td - from kernels to the steps of a device ------*- tablegen -*-===//
#ifndef SPMDC_PLAN_PASSES
#define SPMDC_PLAN_PASSES

include "mlir/Pass/PassBase.td"

def BuildPlan : Pass<"spmdc-build-plan", "mlir::ModuleOp"> {
  let summary = "Turns the operations around the kernels into steps";
  let description = [{
    Before: all computation is in kernels (spmdc-form-kernels); the function holds plan.launch, plan.matmul,
    collectives, constants and reshapes.

    Collectives become plan.start and plan.done, numbered in program order: one total order, the same on all devices.
    Constants become plan.constant. A result that is an argument, a constant, or another result's value gets a
    plan.copy, so that each result is written by a step of its own. Loops, branches and prints become plan.for,
    plan.while, plan.if and plan.print; collectives in them are numbered in the same order.

    After: the function holds steps and reshapes (which only rename memory).
    ```
    %1 = spmd.all_reduce sum %0 over <b> : <f32[4]> -> <f32[4]>
    ```
    becomes
    ```
    %t = plan.start 0(%0 : !spmd.array<f32[4]>) {
    ^bb0(%arg0: !spmd.array<f32[4]>):
      %2 = spmd.all_reduce sum %arg0 over <b> : <f32[4]> -> <f32[4]>
      plan.yield %2 : !spmd.array<f32[4]>
    }
    %1 = plan.done %t : !spmd.array<f32[4]>
    ```
  }];
  let dependentDialects = ["::spmdc::plan::PlanDialect"];
}

def ScheduleCollectives : Pass<"spmdc-schedule-collectives", "mlir::ModuleOp"> {
  let summary = "Starts collectives early and waits for them late";
  let description = [{
    Before: the function holds steps (spmdc-build-plan).

    A plan.start moves to the step that defines its operand, and follows it. Steps that depend on a pending collective
    are delayed while others can run; independent collectives are pending together, and numbered in their new order.
    Readers of a step of a ring (`spmd.overlapped`) stay in place. No step crosses a loop, a branch or a print. Pending
    collectives are bounded by twice the largest one, and so is their memory (a gathered layer of parameters and the
    next); collectives whose operands are available start before later ones.

    After: the same steps in another order.
    ```
    plan.start 0, plan.done 0, plan.launch @f, plan.start 1, plan.done 1, plan.launch @both
    ```
    becomes
    ```
    plan.start 0, plan.launch @f, plan.start 1, plan.done 0, plan.done 1, plan.launch @both
    ```
  }];
}

def AssignBuffers : Pass<"spmdc-assign-buffers", "mlir::ModuleOp"> {
  let summary = "Assigns a buffer to every value";
  let description = [{
    Before: the function holds steps (spmdc-build-plan), in the order in which they will run.

    A returned value is stored in its result and constants in the constant space. Every other value, largest first, is
    stored in the smallest result that is as large and that nothing else uses at that time, or else in the arena, at the
    lowest offset that is free, aligned to 64 bytes. A result whose memory may be that of a donated parameter has no
    other value. An output takes the memory of an input that dies with its kernel, if the backend allows it (`overwrites`
    of the kernel). A reshape shares the memory of its operand.

    A loop's carry has one buffer: for its initial value, the body's argument, the yielded value and the result. A
    plan.copy before the loop or at the end of the body moves a value there that cannot be computed in place, because
    the old value is still read (Storages.h); the same holds for the results of a branch.

    Fails if the arena would exceed the largest size of an array (runtime/support/ArraySize.h).

    After: every step has `buffers`, the buffers of its results; a loop or branch those of its carries or results.
    ```
    %1 = plan.launch @exp_0(%0) {buffers = [#plan.buffer<arena, 4096>]} : ...
    ```
  }];
  let dependentDialects = ["::spmdc::plan::PlanDialect"];
}

def CompileLoops : Pass<"spmdc-compile-loops", "mlir::ModuleOp"> {
  let summary = "Chooses the loops that one function runs";
  let description = [{
    Before: every step has buffers (spmdc-assign-buffers). For CPUs only.

    The executor takes some 10 ns for a step, which is more than a step on a few numbers. A loop becomes one function if
    all of its steps, those of loops and branches in it too, are launches, copies or `update_slice`, and an iteration of
    each loop takes less time than is worth a second thread: such steps run on one thread anyway. Loops with
    collectives, prints, matrix products, sorts or scatters stay as they are, and so do loops of few steps in all. Of
    nested loops, the outermost that can be one function is.

    After: such a loop has the attribute `compiled`. Its steps stay: profiles and the search for NaNs run them, and its
    code is generated from them (passes/cpu/LoopFunction.h).
    ```
    %1 = plan.for 0 to 100(%0) { ... plan.launch @exp_0 ... } {buffers = [...]}
    ```
    becomes
    ```
    %1 = plan.for 0 to 100(%0) { ... plan.launch @exp_0 ... } {buffers = [...], compiled}
    ```
  }];
}

def VerifyPlan : Pass<"spmdc-verify-plan", "mlir::ModuleOp"> {
  let summary = "Verifies the plan stage";
  let description = [{
    Fails at the location of the step if an operation other than a step is left, a step has no buffers, two values that
    are live at the same time share bytes, the numbers of collectives do not increase, or a `compiled` loop is in
    another one or has a step that no function runs. Changes nothing.
  }];
}

#endif
