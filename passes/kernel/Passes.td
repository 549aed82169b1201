//===- Passes.td - from the partitioned program to kernels ----*- tablegen -*-===//
#ifndef SPMDC_KERNEL_PASSES
#define SPMDC_KERNEL_PASSES

include "mlir/Pass/PassBase.td"

def StreamProducts : Pass<"spmdc-stream-products", "mlir::ModuleOp"> {
  let summary = "Outlines attention as kernels that never store the scores";
  let description = [{
    Before: a partitioned program (spmdc-verify-partitioned), for a CPU or for a GPU with matrix units.

    A product of element-wise functions of products becomes a streamed kernel (StreamedProducts.h), if no other operation
    needs the scores in memory, and they are too large for a CPU's cache or the factors are 16-bit floats for a GPU: attention, its gradients, and other functions in place of softmax.
    Operations that move the factors (transposes, slices, broadcasts) are read through. Each kernel multiplies the scores
    that it needs again.

    After: each product that is streamed is a plan.launch of a plan.kernel with the attribute `streamed`.
    ```
    %0 = array.dot_general %q, %k ... -> <bf16[8, 2048, 2048]>
    ...
    %9 = array.dot_general %8, %v ... -> <bf16[8, 2048, 128]>
    ```
    becomes
    ```
    %0 = plan.launch @attention_0(%q, %k, %v) : ... -> <bf16[8, 2048, 128]>
    ```
  }];
  let options = [Option<"sharedBytes", "shared-bytes", "int64_t", "49152",
                        "Bytes of shared memory that a block may have; 0: kernels for a CPU.">,
                 Option<"leastScoreBytes", "least-score-bytes", "int64_t", "0",
                        "On a CPU, scores of less memory are not streamed.">,
                 Option<"warpgroups", "warpgroups", "bool", "false",
                        "Warpgroups multiply tiles (sm_90a), not warps.">];
  let dependentDialects = ["::spmdc::ArrayDialect", "::spmdc::plan::PlanDialect"];
}

def SumVectorProducts : Pass<"spmdc-sum-vector-products", "mlir::ModuleOp"> {
  let summary = "Turns a matrix times few vectors into sums";
  let description = [{
    Before: a partitioned program.

    A dot_general of which one side has no free dimension of more than one element, and the other's contracted
    dimensions are the last ones in memory, becomes a product by elements and a sum (option `rows`). So does one of
    which a side has few free elements (option `vectors`), and the other is an array that element-wise operations compute for it
    alone, with its contracted dimensions last or first: there is a sum for each free element, and a concatenation of
    them. Products of bf16 and f16 are added in f32. Any other vector times a matrix, whose columns would be summed, is
    left to the library.

    After: no such array.dot_general is left.
    ```
    %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[64, 8]>, <f32[8]> -> <f32[64]>
    ```
    becomes
    ```
    %0 = array.broadcast_in_dim %y dims [1] : <f32[8]> -> <f32[64, 8]>
    %1 = array.multiply %x, %0 : <f32[64, 8]>
    %2 = array.reduce sum %1 dims [1] : <f32[64, 8]> -> <f32[64]>
    ```
  }];
  let options = [Option<"rows", "rows", "bool", "true", "Sum rows of matrices that are in memory, too">,
                 Option<"vectors", "vectors", "int64_t", "8", "The most vectors of a matrix that is computed">];
  let dependentDialects = ["::spmdc::ArrayDialect"];
}

def DecomposeReductions : Pass<"spmdc-decompose-reductions", "mlir::ModuleOp"> {
  let summary = "Rewrites reductions so that they run in parallel and in vectors";
  let description = [{
    Before: a partitioned program (spmdc-verify-partitioned).

    - arg_reduce becomes the extreme value, and the smallest index of it: two vectorisable reductions.
    - A scan from the end becomes a scan from the beginning between two reversals.
    - Reduced dimensions of size 1 are dropped.
    - A large reduction to few elements is split into fixed blocks: partial results of the blocks, then of these. If the
      last dimension is reduced, a block is contiguous: the innermost reduced dimensions, and a part of the next. The
      blocks depend on the shape alone, so the bits do not depend on threads.
    - A continued scan becomes that of both dimensions as one.
    - `for-gpu`: a large scan along few rows is split into blocks. Those of a contiguous row are a continued scan. Others,
      and those of 64 bits, are split likewise: sums of blocks, a scan of these sums, and scans of the blocks which begin
      with the sum of all elements before.

    After: no arg_reduce is left, no reversed cumulative, and, but `for-gpu`, no continued one.
    ```
    %0 = array.reduce sum %x dims [0, 1] : <f32[2048, 4096]> -> <f32[]>
    ```
    becomes
    ```
    %0 = array.reshape %x : <f32[2048, 4096]> -> <f32[512, 4, 4096]>
    %1 = array.reduce sum %0 dims [1, 2] : <f32[512, 4, 4096]> -> <f32[512]>
    %2 = array.reduce sum %1 dims [0] : <f32[512]> -> <f32[]>
    ```
  }];
  let options = [Option<"forGpu", "for-gpu", "bool", "false",
                        "Splits large reductions, and scans too, so that they occupy a GPU.">,
                 Option<"gpuSharedBytes", "gpu-shared-bytes", "int64_t", "49152",
                        "Bytes of shared memory that a block of that GPU may have.">,
                 Option<"gpuClusterBlocks", "gpu-cluster-blocks", "int64_t", "1",
                        "The most blocks of a cluster of that GPU.">];
  let dependentDialects = ["::spmdc::ArrayDialect"];
}

def DecomposeFourier : Pass<"spmdc-decompose-fourier", "mlir::ModuleOp"> {
  let summary = "Lowers Fourier transforms to products of matrices, for GPUs";
  let description = [{
    Before: a partitioned program.

    A transform of n = r m elements is a product with a constant matrix of r rows, which takes both parts of the r
    elements to both parts of r frequencies, a multiplication by constants (twiddle factors), and a transform of m
    elements. Radices are at most 64, or a prime up to 127.

    After: no array.fft is left.
    ```
    %0 = array.fft %x dim 1 length 96 divisor 1 : <f32[3, 96, 2]> -> <f32[3, 96, 2]>
    ```
    has a product of `f32[3, 12, 8, 2]` with `f32[12, 2, 12, 2]`, and one of `f32[3, 8, 12, 2]` with `f32[8, 2, 8, 2]`.
  }];
  let dependentDialects = ["::spmdc::ArrayDialect"];
}

def DecomposeScatters : Pass<"spmdc-decompose-scatters", "mlir::ModuleOp"> {
  let summary = "Rewrites scatters that are no sums by sorts, for a GPU";
  let description = [{
    Before: a partitioned program, for a GPU.

    array.scatter becomes an argsort of the indices, a scan of the sorted updates that combines those of one index (but
    for `replace`), an array.scatter_add of the number of the update that is left at each position, and a take of these
    updates. With `unique` indices nothing is sorted.

    After: no array.scatter is left.
    ```
    %0 = array.scatter replace %x, %i, %u dim 0 unique : <f32[8]>, <i32[5]>, <f32[5]> -> <f32[8]>
    ```
    becomes
    ```
    %0 = array.iota dim 0 : <i32[5]>
    %1 = array.scatter_add %zeros, %i, %0 + 1 dim 0 : <i32[8]>, <i32[5]>, <i32[5]> -> <i32[8]>
    %2 = array.take %u, %1 - 1 dim 0 : <f32[5]>, <i32[8]> -> <f32[8]>
    %3 = array.select %1 > 0, %2, %x : <i1[8]>, <f32[8]>, <f32[8]> -> <f32[8]>
    ```
  }];
  let dependentDialects = ["::spmdc::ArrayDialect"];
}

def NormalizeContractions : Pass<"spmdc-normalize-contractions", "mlir::ModuleOp"> {
  let summary = "Turns dot_general into batched matrix products";
  let description = [{
    Before: a partitioned program.

    array.dot_general becomes plan.matmul [batch, m, k] x [batch, k, n], with transpose flags where an operand has the
    other order; transposes in front are absorbed, and one is added only where neither order fits. With `views`, an
    operand that would be copied only to be multiplied (patches of a convolution, heads between positions and features,
    slices, broadcasts) is read where it is, if its position is a sum of one term for each dimension (StridedViews.h).

    After: no array.dot_general is left.
    ```
    %0 = array.dot_general %x, %y contract [0] x [0] batch [] x [] : <f32[8, 4]>, <f32[8, 6]> -> <f32[4, 6]>
    ```
    becomes
    ```
    %0 = plan.matmul %x, %y {batch = 1, m = 4, n = 6, k = 8, transposeLhs = true, transposeRhs = false} : ...
    ```
  }];
  let options = [Option<"views", "views", "bool", "false", "The library reads operands by views: a CPU's does.">];
  let dependentDialects = ["::spmdc::ArrayDialect", "::spmdc::plan::PlanDialect"];
}

def LowerLibraryCalls : Pass<"spmdc-lower-library-calls", "mlir::ModuleOp"> {
  let summary = "Lowers sorts, scatters, window updates and Fourier transforms to library calls";
  let description = [{
    Before: a partitioned program.

    array.argsort, array.scatter_add, array.scatter_add_along, array.scatter, array.dynamic_update_slice and array.fft become plan.library calls,
    which sort lines and transform them in parallel, add in a fixed order, and change their first input in place if no other operation
    needs it: a step of a loop that writes one row touches one row. An argsort that only serves to read its operand in
    order becomes, with that array.take or array.take_along, one call of `sort`. With `ranges`, a call returns only the
    places that a slice reads, as those of top_k.

    After: none of these operations is left.
    ```
    %0 = array.scatter_add %x, %i, %u dim 1 : <f32[8, 6]>, <i32[5]>, <f32[8, 5]> -> <f32[8, 6]>
    ```
    becomes
    ```
    %0 = plan.library "scatter_add"(%x, %i, %u) sizes [8, 6, 5, 1] : ...
    ```
  }];
  let options = [Option<"ranges", "ranges", "bool", "false", "The library sorts ranges of places: a CPU's does.">];
  let dependentDialects = ["::spmdc::ArrayDialect", "::spmdc::plan::PlanDialect"];
}

def FormKernels : Pass<"spmdc-form-kernels", "mlir::ModuleOp"> {
  let summary = "Fuses array operations into kernels and outlines them";
  let description = [{
    Before: spmdc-decompose-reductions and spmdc-normalize-contractions have run.

    Operations that have a common schedule (KernelSchedule.h) are fused if that costs less than to run them one by one:
    element-wise work, operations that only move data, and reductions over the same rows, with several outputs if these
    read the same memory. Element-wise work on the rows of a matrix product becomes its epilogue.
    Operations without cost (splats, iota, positions, broadcasts) are repeated in each kernel that reads it.

    Each block of a loop or branch is treated like the function's. Prints keep their order.

    After: @main holds plan.launch, plan.matmul, collectives, constants and reshapes (which only rename memory); all
    computation is in plan.kernel symbols.
    ```
    %0 = array.exp %x : <f32[8, 4]>
    %1 = array.reduce sum %0 dims [1] : <f32[8, 4]> -> <f32[8]>
    ```
    becomes
    ```
    %0 = plan.launch @exp_sum_0(%x) : (!spmd.array<f32[8, 4]>) -> !spmd.array<f32[8]>
    ```
  }];
  let options = [Option<"gpuSharedBytes", "gpu-shared-bytes", "int64_t", "0",
                        "Target: a GPU with this many bytes of shared memory for a block; 0: a CPU.">,
                 Option<"gpuClusterBlocks", "gpu-cluster-blocks", "int64_t", "1",
                        "The most blocks of a cluster of that GPU.">];
  let dependentDialects = ["::spmdc::ArrayDialect", "::spmdc::plan::PlanDialect"];
}

def ShareKernels : Pass<"spmdc-share-kernels", "mlir::ModuleOp"> {
  let summary = "Merges equal kernels";
  let description = [{
    Before: kernels are outlined (spmdc-form-kernels).

    Kernels whose bodies, types and attributes differ only in names and locations are merged: launches of the others
    call the first one, so a network of equal layers is compiled once. The location of a computation is that of its
    launch.

    After: no two plan.kernel are equal.
    ```
    %0 = plan.launch @exp_0(%x) : ...
    %1 = plan.launch @exp_1(%y) : ...
    ```
    becomes
    ```
    %0 = plan.launch @exp_0(%x) : ...
    %1 = plan.launch @exp_0(%y) : ...
    ```
  }];
}

def ScheduleKernels : Pass<"spmdc-schedule-kernels", "mlir::ModuleOp"> {
  let summary = "Chooses the loops of each kernel";
  let description = [{
    Before: kernels are outlined (spmdc-form-kernels).

    Computes each kernel's schedule (KernelSchedule.h) and adds as attributes the extent of the parallel range, the
    grain, the schedule as text, and the inputs that its outputs may overwrite (Overwrites.h).

    After: every plan.kernel has `extent`, `grain`, `schedule` and `overwrites`, as a CPU runs them.
    ```
    plan.kernel @exp_0(%x: !spmd.array<f32[8, 4]>)
        attributes {extent = 32 : i64, grain = 2048 : i64, overwrites = [[0]], schedule = "rows [32] ..."}
    ```
  }];
  let dependentDialects = ["::spmdc::plan::PlanDialect"];
}

def VerifyKernels : Pass<"spmdc-verify-kernels", "mlir::ModuleOp"> {
  let summary = "Checks the exit of the kernels stage";
  let description = [{
    The pass fails at the location of an operation if it is neither in a kernel nor one that becomes a step of the plan
    (a launch, a product or another library call, a collective, a loop, a branch, a print, a constant, a reshape), if a
    launch names no kernel or passes other types than the kernel takes and returns, if a product's epilogue does not
    rewrite each row of the product in place, or if a kernel has no schedule. It changes nothing.
  }];
  let dependentDialects = ["::spmdc::plan::PlanDialect"];
}

#endif
