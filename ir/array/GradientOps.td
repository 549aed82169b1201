//===- GradientOps.td - operations of differentiation ------*- tablegen -*-===//
//
// The front end's operations for differentiation. spmdc-differentiate replaces all of them by other operations, except
// optimization_barrier, which keeps recomputed values apart from the originals. array.yield, which loops and branches
// use as well (ControlOps.td), is defined here, too.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_GRADIENT_OPS
#define SPMDC_GRADIENT_OPS

def Array_YieldOp : Op<Array_Dialect, "yield", [Pure, Terminator]> {
  let summary = "The results of a region of an array operation";
  let arguments = (ins Variadic<Spmd_ArrayType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def Array_GradientOp : Op<Array_Dialect, "gradient", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "Values of a function and the gradient of the first with respect to its arguments";
  let description = [{
    The body computes a float scalar (and perhaps more) from its arguments. It may use values from outside, which are
    constants of the derivative, even if they are operands. The results are the values that the body yields, then one
    gradient for each argument, of its type without a sharding.
    ```
    %loss, %gradient = array.gradient(%w) {
    ^bb0(%arg0: !spmd.array<f32[4]>):
      %0 = array.multiply %arg0, %arg0 : <f32[4]>
      %1 = array.reduce sum %0 dims [0] : <f32[4]> -> <f32[]>
      array.yield %1 : !spmd.array<f32[]>
    } : (!spmd.array<f32[4]>) -> (!spmd.array<f32[]>, !spmd.array<f32[4]>)
    ```
  }];
  let arguments = (ins Variadic<Spmd_ArrayType>:$operands);
  let results = (outs Variadic<Spmd_ArrayType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $operands `)` $body attr-dict `:` functional-type($operands, $results)";
  let extraClassDeclaration = [{
    /// The values that the body yields; the first is the scalar that is differentiated.
    ::mlir::ValueRange getYielded() { return getBody().front().getTerminator()->getOperands(); }
    /// The results that are gradients, one for each operand.
    ::mlir::ResultRange getGradients() { return getResults().take_back(getOperands().size()); }
  }];
  let hasVerifier = 1;
}

def Array_CheckpointOp : Op<Array_Dialect, "checkpoint", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "A computation that a derivative repeats instead of keeping its values";
  let description = [{
    The results are the values that the body yields. If they are differentiated, the backward pass computes the body
    again from the values that it uses from outside. `%0 = array.checkpoint { ... array.yield %h : !spmd.array<f32[4]> }
    : !spmd.array<f32[4]>`
  }];
  let results = (outs Variadic<Spmd_ArrayType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict (`:` type($results)^)?";
  let hasVerifier = 1;
}

def Array_StopGradientOp : Array_UnaryOp<"stop_gradient", "x", "x"> {
  let summary = "The same value, a constant to every derivative";
}

def Array_OptimizationBarrierOp : Array_UnaryOp<"optimization_barrier", "x", "x", ["g"]> {
  let summary = "The same value, which no optimization merges with the operand";
  let description = [{
    CSE never merges its users with those of the operand, so that the backward pass recomputes values instead of keeping
    those of the forward pass alive.
  }];
}

#endif
