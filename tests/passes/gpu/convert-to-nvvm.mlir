// RUN: spmd-opt %s --pass-pipeline='builtin.module(gpu.module(spmdc-convert-to-nvvm))' | FileCheck %s

// CHECK-LABEL: gpu.module @kernels
gpu.module @kernels {
  // Facts about the parameters become attributes, with the alignment that the plan guarantees.
  // CHECK-LABEL: llvm.func @kernel
  // CHECK-SAME: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}
  // CHECK-SAME: !llvm.ptr {llvm.align = 16 : i64}
  // CHECK-SAME: !llvm.ptr {llvm.align = 8 : i64, llvm.noalias, llvm.readonly}
  // CHECK-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>, nvvm.minctasm = 4 : i32
  gpu.func @kernel(%x: !llvm.ptr, %y: !llvm.ptr, %coordinates: !llvm.ptr) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, spmd.noalias = array<i1: true, false, true>,
                  spmd.readonly = array<i1: true, false, true>} {
    // CHECK: nvvm.read.ptx.sreg.tid.x
    %t = gpu.thread_id x
    // CHECK: nvvm.read.ptx.sreg.ctaid.x
    %b = gpu.block_id x
    // CHECK: nvvm.barrier0
    gpu.barrier
    %position = arith.addi %t, %b : index
    %number = arith.index_cast %position : index to i32
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    // CHECK: nvvm.shfl.sync bfly
    %other, %valid = gpu.shuffle xor %number, %one, %width : i32
    llvm.store %other, %y : i32, !llvm.ptr
    // CHECK: llvm.return
    gpu.return
  }

  // The size of a cluster becomes an attribute of the function in LLVM IR.
  // CHECK-LABEL: llvm.func @cluster
  // CHECK-SAME: nvvm.minctasm = 3 : i32, passthrough = {{\[\["nvvm.cluster_dim", "8"\]\]}}
  gpu.func @cluster(%x: !llvm.ptr) kernel
      attributes {known_block_size = array<i32: 512, 1, 1>, spmd.cluster_blocks = 8 : i64, spmd.resident_threads = 1536 : i32} {
    gpu.return
  }

  // CHECK-LABEL: llvm.func @nothing_known(%arg0: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel}
  gpu.func @nothing_known(%x: !llvm.ptr) kernel {
    gpu.return
  }
}
