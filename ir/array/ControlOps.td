//===- ControlOps.td - loops, branches and prints -------------*- tablegen -*-===//
//
// Regions of one block that may use values from outside. A carry of a loop is four values of one shape and element
// type: an init, an argument of the body, a yielded value and a result. Their shardings may differ before partitioning,
// and are equal after it.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_CONTROL_OPS
#define SPMDC_CONTROL_OPS

include "mlir/Interfaces/LoopLikeInterface.td"

class Array_ControlOp<string mnemonic, list<Trait> traits = []>
    : Op<Array_Dialect, mnemonic, traits # [SingleBlock, RecursiveMemoryEffects]> {
  let results = (outs Variadic<Spmd_ArrayType>:$outputs);
  let hasVerifier = 1;
}

def Array_ForOp : Array_ControlOp<"for", [DeclareOpInterfaceMethods<LoopLikeOpInterface>]> {
  let summary = "A loop of a known number of iterations over carried values";
  let description = [{
    The body runs for each i in [lower, upper); its arguments are i (i32[]) and the carries, it yields the next carries.
    ```
    %r = array.for 0 to 10 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8]>):
      %0 = array.multiply %c, %c : <f32[8]>
      array.yield %0 : !spmd.array<f32[8]>
    } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
    ```
    - C1: lower and upper, and so each i, are i32 numbers.
    - C2: the body takes an i32[] and one value for each init; its yield has as many.
    - C3: init, argument, yielded value and result of a carry have one shape and element type.
  }];
  // Not `inits`: LoopLikeOpInterface has a method of that name, which wants equal types.
  let arguments = (ins I64Attr:$lower, I64Attr:$upper, Variadic<Spmd_ArrayType>:$initials);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$lower `to` $upper `(` $initials `)` $body attr-dict `:` functional-type($initials, $outputs)";
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The number of iterations.
    int64_t getTripCount() {
      auto low = static_cast<int64_t>(getLower()), high = static_cast<int64_t>(getUpper());
      return high > low ? high - low : 0;
    }
    ::mlir::BlockArgument getCounter() { return getBody().getArgument(0); }
    ::mlir::Block::BlockArgListType getCarries() { return getBody().getArguments().drop_front(); }
  }];
}

def Array_WhileOp : Array_ControlOp<"while", [DeclareOpInterfaceMethods<LoopLikeOpInterface>]> {
  let summary = "A loop over carried values that runs while a condition holds";
  let description = [{
    `condition` yields bool[], `body` the next carries; both take the carries as arguments.
    - C1: the condition yields one bool[].
    - C2: both regions take one value for each init; the body yields as many.
    - C3: init, arguments, yielded value and result of a carry have one shape and element type.
  }];
  let arguments = (ins Variadic<Spmd_ArrayType>:$initials);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let assemblyFormat = "`(` $initials `)` $condition `do` $body attr-dict `:` functional-type($initials, $outputs)";
}

def Array_IfOp : Array_ControlOp<"if"> {
  let summary = "One of two branches";
  let description = [{
    - C1: the predicate is a bool[].
    - C2: both branches take nothing and yield one value for each result, of its shape and element type.
  }];
  let arguments = (ins Spmd_ArrayType:$predicate);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = [{
    $predicate $thenRegion `else` $elseRegion attr-dict `:` functional-type(operands, $outputs)
  }];
  let hasCanonicalizer = 1;
}

def Array_PrintOp : Op<Array_Dialect, "print", [MemoryEffects<[MemWrite]>]> {
  let summary = "Prints values once, by process 0, in the order of the program";
  let description = [{
    `texts` has one more entry than there are values: text, value, text, value, ..., text. Once partitioned, `globals`
    holds the values' global types.
    `array.print ["loss ", ""](%x) : !spmd.array<f32[]>`
  }];
  let arguments = (ins StrArrayAttr:$texts, Variadic<Spmd_ArrayType>:$values, OptionalAttr<TypeArrayAttr>:$globals);
  let assemblyFormat = "$texts `(` $values `)` (`global` $globals^)? attr-dict (`:` type($values)^)?";
  let hasVerifier = 1;
}

#endif
