//===- Passes.td - from scheduled kernels to nvvm -------------*- tablegen -*-===//
#ifndef SPMDC_GPU_PASSES
#define SPMDC_GPU_PASSES

include "mlir/Pass/PassBase.td"

def MatchLibraryEpilogues : Pass<"spmdc-match-library-epilogues", "mlir::ModuleOp"> {
  let summary = "Finds epilogues of products that cuBLASLt computes together with the product";
  let description = [{
    Before: products have epilogues (spmdc-form-kernels).

    After: a product whose epilogue is function(factor * product + factor * array + row) says so in `libraryEpilogue`,
    with the function identity, gelu (with tanh), or multiplication by the gradient of a gelu. The kernel stays: the
    runtime launches it where cuBLASLt is missing, or does not support the form.
    ```
    %0 = plan.matmul %x, %w epilogue @add_0(%b : !spmd.array<bf16[8]>) {...}
    ```
    becomes
    ```
    %0 = plan.matmul %x, %w epilogue @add_0(%b : !spmd.array<bf16[8]>) {libraryEpilogue =
        #plan.library_epilogue<"identity", factor = 1.0 : f64, arrayFactor = 0.0 : f64, array = -1, bias = 0>, ...}
    ```
  }];
  let dependentDialects = ["::spmdc::plan::PlanDialect"];
}

def MapToGpu : Pass<"spmdc-map-to-gpu", "mlir::ModuleOp"> {
  let summary = "Maps the iterations of each kernel to blocks and threads";
  let description = [{
    Before: kernels are scheduled (spmdc-schedule-kernels).

    Chooses each kernel's mapping (GpuMapping.h) and adds as attributes its text, the threads of a block, the blocks of
    the grid (as the extent), and the inputs that its outputs may overwrite when threads run in any order.

    After: every plan.kernel has `mapping`, `block_threads`, `shared_limit` and `max_cluster_blocks` (the options) and,
    if a launch has to request shared memory, `shared_bytes`, or to clear memory before it, `state_bytes`; streamed
    kernels have `warpgroups` (the option); `extent` counts blocks.
    ```
    plan.kernel @exp_0(%x: !spmd.array<f32[1024]>) attributes {extent = 1024 : i64, overwrites = [[0]], ...}
    ```
    becomes
    ```
    plan.kernel @exp_0(%x: !spmd.array<f32[1024]>) attributes {block_threads = 256 : i64, extent = 4 : i64,
        mapping = "flat, 1 elements a thread; 4 blocks of 256 threads", overwrites = [[0]], ...}
    ```
  }];
  let options = [Option<"sharedBytes", "shared-bytes", "int64_t", "49152",
                        "Bytes of shared memory that a block may have.">,
                 Option<"clusterBlocks", "cluster-blocks", "int64_t", "1", "The most blocks of a cluster.">,
                 Option<"warpgroups", "warpgroups", "bool", "false",
                        "Warpgroups multiply the tiles of streamed kernels (sm_90a), not warps.">];
  let dependentDialects = ["::spmdc::plan::PlanDialect"];
}

def EmitGpuKernels : Pass<"spmdc-emit-gpu-kernels", "mlir::ModuleOp"> {
  let summary = "Emits the code of mapped kernels as a gpu.module";
  let description = [{
    Before: kernels are mapped (spmdc-map-to-gpu).

    After: besides the kernels, a gpu.module @kernels holds a gpu.func for each plan.kernel, with the calling
    convention of runtime/artifact/Plan.h: control flow and memory in the llvm dialect, arithmetic in arith and math,
    threads, barriers and shuffles in gpu.
    ```
    plan.kernel @exp_0(%x: !spmd.array<f32[1024]>) attributes {block_threads = 256 : i64, ...} { ... }
    ```
    adds
    ```
    gpu.module @kernels {
      gpu.func @exp_0(%x: !llvm.ptr, %y: !llvm.ptr, %coordinates: !llvm.ptr) kernel { ... }
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def NarrowArithmetic : Pass<"spmdc-narrow-arithmetic", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Computes with bf16 values without the arithmetic of f32";
  let description = [{
    Before: kernels compute with f32, and round each result of bf16 (spmdc-emit-gpu-kernels).

    After: a quotient of two bf16 values that is rounded to bf16 is `div.full.f32`, rounded. With `has-instructions` (the
    chip adds and multiplies bf16: from sm_90 and PTX 7.8 on), a sum, difference or product is an operation on bf16. LLVM
    joins the operations of adjacent elements to one instruction for two. Results are the same (see NarrowArithmetic.cpp).
    ```
    %2 = arith.mulf %0, %1 : f32            // both from bf16
    %3 = arith.truncf %2 : f32 to bf16
    ```
    becomes
    ```
    %3 = arith.mulf %a, %b : bf16
    ```
  }];
  let options = [Option<"hasInstructions", "has-instructions", "bool", "false", "The chip adds and multiplies bf16.">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def CallLibdevice : Pass<"spmdc-call-libdevice", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Calls libdevice for mathematical functions without a GPU instruction";
  let description = [{
    Before: functions in arith and math (spmdc-emit-gpu-kernels).

    After: the remaining operations of math and arith are instructions; remainders of floats are calls, too. A division of
    f32 that is a part of a function (logistic) is `div.full.f32`, with an error of at most two units in the last place.
    ```
    %1 = math.tanh %0 : f32
    ```
    becomes
    ```
    llvm.func @__nv_tanhf(f32) -> f32
    %1 = llvm.call @__nv_tanhf(%0) : (f32) -> f32
    ```
    With `approximates-tanh`, a tanh of f32 that is only rounded to bf16 becomes the instruction `tanh.approx.f32` (from
    sm_75 and PTX 7.0 on): its error is at most 2^-11 of the value, an eighth of a unit in the last place of bf16, while
    libdevice's function takes 15 instructions.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [Option<"approximatesTanh", "approximates-tanh", "bool", "false",
                        "Compute a tanh that is rounded to bf16 by one instruction.">];
}

def ConvertToNvvm : Pass<"spmdc-convert-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Converts kernels to the llvm and nvvm dialects";
  let description = [{
    Before: gpu.func kernels of spmdc-emit-gpu-kernels, with functions called (spmdc-call-libdevice).

    After: llvm.func with `nvvm.kernel`, `nvvm.maxntid` and `nvvm.minctasm`; attributes of the parameters give their
    alignment, and which are readonly or noalias. No operation of gpu, arith and math is left.
    ```
    %0 = gpu.thread_id x
    ```
    becomes
    ```
    %0 = nvvm.read.ptx.sreg.tid.x : i32
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

#endif
