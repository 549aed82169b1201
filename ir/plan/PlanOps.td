//===- PlanOps.td - kernels and the steps of a device ---------*- tablegen -*-===//
//
// The program of one device, still as SSA values: steps read and define per-device arrays, and once buffers are
// assigned, the attribute `buffers` has the #plan.buffer of each result. The export to runtime/artifact/Plan.h reads
// nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_PLAN_OPS
#define SPMDC_PLAN_OPS

include "ir/spmd/SpmdBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::spmdc::plan";
  let summary = "Kernels, and the steps and buffers of a device";
  let dependentDialects = ["::spmdc::ArrayDialect", "::spmdc::SpmdDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

def Plan_TokenType : TypeDef<Plan_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "A collective in flight";
}

def Plan_BufferAttr : AttrDef<Plan_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "The buffer of a value";
  let description = [{
    `#plan.buffer<arena, 4096>`: the space (argument, result, arena, constant), and its byte offset (arena, constant)
    or number (argument, result).
  }];
  let parameters = (ins StringRefParameter<>:$space, "int64_t":$position);
  let assemblyFormat = "`<` $space `,` $position `>`";
}

def Plan_ViewAttr : AttrDef<Plan_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "Where an operand [batch, rows, columns] of a product is in its array";
  let description = [{
    `#plan.view<offset = 3, batch = [], rows = [40, 8], columns = [3, 42, 8, 1]>`: the size
    and the stride of each digit (runtime/support/OperandView.h). Here 40 rows are 8 elements apart, and each has 3
    times 8 adjacent elements, which are 42 elements apart.
  }];
  let parameters = (ins "int64_t":$offset, "::mlir::DenseI64ArrayAttr":$batch, "::mlir::DenseI64ArrayAttr":$rows,
                        "::mlir::DenseI64ArrayAttr":$columns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static ViewAttr get(::mlir::MLIRContext *context, const ::spmd::OperandView &view);
    ::spmd::OperandView toView() const;
  }];
}

def Plan_LibraryEpilogueAttr : AttrDef<Plan_Dialect, "LibraryEpilogue"> {
  let mnemonic = "library_epilogue";
  let summary = "An epilogue in the form in which a library computes it with the product";
  let description = [{
    `#plan.library_epilogue<"gelu", factor = 1.0 : f64, arrayFactor = 0.0 : f64, array = -1, bias = 0>`: function(factor *
    product + arrayFactor * array + bias). The function is `identity`, `gelu`, or `gelu_gradient`, which is factor *
    product * gelu'(array). `array`, of the result's shape, and `bias`, a row, are numbers of `extras` or -1.
  }];
  let parameters = (ins StringRefParameter<>:$function, "::mlir::FloatAttr":$factor, "::mlir::FloatAttr":$arrayFactor,
                        "int32_t":$array, "int32_t":$bias);
  let assemblyFormat = "`<` $function `,` struct($factor, $arrayFactor, $array, $bias) `>`";
  let genVerifyDecl = 1;
}

def Plan_KernelOp : Plan_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "A fused group of array operations that becomes one kernel";
  let description = [{
    The block's arguments are the inputs, `plan.return` names the outputs; the body is array operations (and
    shard_start, shard_size, axis_index) on per-device shapes. The name is one that assemblers accept. `extent` is the
    number of iterations of the parallel range (on a GPU: of blocks), and `grain` the least number of iterations that is
    worth another thread. spmdc-schedule-kernels sets both.
    ```
    plan.kernel @relu(%x: !spmd.array<f32[8, 4]>) {
      ...
      plan.return %y : !spmd.array<f32[8, 4]>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<I64Attr>:$extent, OptionalAttr<I64Attr>:$grain);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
  }];
}

def Plan_ReturnOp : Plan_Op<"return", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "The outputs of a kernel";
  let arguments = (ins Variadic<Spmd_ArrayType>:$outputs);
  let assemblyFormat = "attr-dict ($outputs^ `:` type($outputs))?";
}

def Plan_LaunchOp : Plan_Op<"launch", [Pure]> {
  let summary = "Runs a kernel";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Spmd_ArrayType>:$inputs,
                       OptionalAttr<ArrayAttr>:$buffers);
  let results = (outs Variadic<Spmd_ArrayType>:$outputs);
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
}

def Plan_MatmulOp : Plan_Op<"matmul", [Pure]> {
  let summary = "A (batched) matrix product by a library, with an optional fused epilogue";
  let description = [{
    [batch, m, k] x [batch, k, n] -> [batch, m, n] as flat row-major memory; `transposeLhs` says that lhs is stored as
    [k, m], `transposeRhs` that rhs is stored as [n, k]. An operand with a view is read from its array as the view says,
    and neither flag is set for it. `epilogue` is a kernel over the rows of the product whose first
    input is the product (in place) and whose other inputs are `extras`; its output is the result. `libraryEpilogue`
    says what that kernel computes, if cuBLASLt may do it in place of the kernel.
  }];
  let arguments = (ins Spmd_ArrayType:$lhs, Spmd_ArrayType:$rhs, Variadic<Spmd_ArrayType>:$extras, I64Attr:$batch,
                       I64Attr:$m, I64Attr:$n, I64Attr:$k, BoolAttr:$transposeLhs, BoolAttr:$transposeRhs,
                       OptionalAttr<Plan_ViewAttr>:$lhsView, OptionalAttr<Plan_ViewAttr>:$rhsView,
                       OptionalAttr<FlatSymbolRefAttr>:$epilogue,
                       OptionalAttr<Plan_LibraryEpilogueAttr>:$libraryEpilogue, OptionalAttr<ArrayAttr>:$buffers);
  let results = (outs Spmd_ArrayType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`epilogue` $epilogue^)? (`(` $extras^ `:` type($extras) `)`)? attr-dict `:` type($lhs) `,` type($rhs)
    `->` type($result)
  }];
}

def Plan_LibraryOp : Plan_Op<"library", [Pure]> {
  let summary = "A step of the runtime's library";
  let description = [{
    `function` is its name, `sizes` are the sizes of its arrays seen as [outer, size along the dimension, inner]:

    | function | inputs | sizes | result |
    | --- | --- | --- | --- |
    | `scatter_add` | operand [o, n, i], indices [m], updates [o, m, i] | o, n, m, i | the operand, changed |
    | `scatter_add_along` | operand [o, n, i], indices and updates [o, m, i] | o, n, m, i | the operand, changed |
    | `update_slice` | operand [shape], update [window], a start i32[] or i64[] for each dimension | shape, window | the operand, changed |
    | `argsort`, `argsort_descending` | operand [o, n, i] | o, n, i | positions: i32[o, n, i] or i64[o, n, i] |
    | `sort`, `sort_descending` | operand [o, n, i] | o, n, i | the operand's elements at the positions of `argsort` |

    | `fft`, `inverse_fft` | operand [o, n or n / 2 + 1, i, p] | o, n, i, p, q, divisor | [o, n or n / 2 + 1, i, q] (`array.fft`) |

    The sizes o, n, i, begin, end of a sort select these places of the sorted lines: its result is [o, end - begin, i].
  }];
  let arguments = (ins StrAttr:$function, Variadic<Spmd_ArrayType>:$inputs, DenseI64ArrayAttr:$sizes,
                       OptionalAttr<ArrayAttr>:$buffers);
  let results = (outs Spmd_ArrayType:$result);
  let assemblyFormat = [{
    $function `(` $inputs `)` `sizes` $sizes attr-dict `:` functional-type($inputs, $result)
  }];
  let extraClassDeclaration = [{
    bool isSort() { return getFunction().starts_with("argsort") || getFunction().starts_with("sort"); }
    /// The input that the result is a changed copy of; it may change in place if no later step reads it. Null for a new
    /// array.
    ::mlir::Value getOverwritten() {
      return isSort() || getFunction().ends_with("fft") ? ::mlir::Value() : getInputs()[0];
    }
  }];
}

def Plan_StartOp : Plan_Op<"start", [SingleBlock]> {
  let summary = "Starts a collective";
  let description = [{
    The region holds only the collective (`spmd.all_reduce` ...), whose operand is the region's argument, and
    `plan.yield`. The root of a `spmd.collective_broadcast` is a value from outside, read when it starts. `id` increases
    in the total order of the collectives, which is the same on all devices.
  }];
  let arguments = (ins Spmd_ArrayType:$operand, I64Attr:$id, OptionalAttr<ArrayAttr>:$buffers);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Plan_TokenType:$token);
  let assemblyFormat = "$id `(` $operand `:` type($operand) `)` $body attr-dict";
}

def Plan_DoneOp : Plan_Op<"done"> {
  let summary = "Waits for a collective";
  let arguments = (ins Plan_TokenType:$token);
  let results = (outs Spmd_ArrayType:$result);
  let assemblyFormat = "$token attr-dict `:` type($result)";
}

def Plan_CopyOp : Plan_Op<"copy", [Pure]> {
  let summary = "Copies a value into another buffer";
  let arguments = (ins Spmd_ArrayType:$operand, OptionalAttr<ArrayAttr>:$buffers);
  let results = (outs Spmd_ArrayType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def Plan_ConstantOp : Plan_Op<"constant", [Pure]> {
  let summary = "A constant in the artifact's constant space";
  let arguments = (ins ElementsAttr:$value, OptionalAttr<ArrayAttr>:$buffers);
  let results = (outs Spmd_ArrayType:$result);
  let assemblyFormat = "$value attr-dict `->` type($result)";
}

def Plan_YieldOp : Plan_Op<"yield", [Pure, Terminator]> {
  let summary = "The values of a branch, a loop body, or a collective";
  let arguments = (ins Variadic<Spmd_ArrayType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def Plan_IfOp : Plan_Op<"if", [SingleBlock]> {
  let summary = "One of two branches; if one has a collective, the predicate (bool[]) is the same on all devices";
  let arguments = (ins Spmd_ArrayType:$predicate, OptionalAttr<ArrayAttr>:$buffers);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let results = (outs Variadic<Spmd_ArrayType>:$outputs);
  let assemblyFormat = [{
    $predicate $thenRegion `else` $elseRegion attr-dict `:` type($predicate) `->` type($outputs)
  }];
}

def Plan_ForOp : Plan_Op<"for", [SingleBlock]> {
  let summary = "A loop of a known number of iterations over carried values";
  let description = [{
    `body` takes the counter (i32[], from `lower` below `upper`) and the carries, and yields the next carries. `buffers`:
    the counter's, then the carries'.
  }];
  let arguments = (ins I64Attr:$lower, I64Attr:$upper, Variadic<Spmd_ArrayType>:$inits,
                       OptionalAttr<ArrayAttr>:$buffers);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Spmd_ArrayType>:$outputs);
  let assemblyFormat = "$lower `to` $upper `(` $inits `)` $body attr-dict `:` functional-type($inits, $outputs)";
}

def Plan_WhileOp : Plan_Op<"while", [SingleBlock]> {
  let summary = "A loop over carried values";
  let description = "`condition` yields bool[], `body` the next carries; both take the carries as block arguments.";
  let arguments = (ins Variadic<Spmd_ArrayType>:$inits, OptionalAttr<ArrayAttr>:$buffers);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let results = (outs Variadic<Spmd_ArrayType>:$outputs);
  let assemblyFormat = "`(` $inits `)` $condition `do` $body attr-dict `:` functional-type($inits, $outputs)";
}

def Plan_PrintOp : Plan_Op<"print"> {
  let summary = "Prints values once, by process 0";
  let arguments = (ins StrArrayAttr:$texts, Variadic<Spmd_ArrayType>:$values, TypeArrayAttr:$globals);
  let assemblyFormat = "$texts `(` $values `)` `global` $globals attr-dict `:` type($values)";
}

#endif
