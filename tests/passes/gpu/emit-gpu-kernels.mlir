// RUN: spmd-opt %s --spmdc-schedule-kernels --spmdc-map-to-gpu --spmdc-emit-gpu-kernels | FileCheck %s
// RUN: spmd-opt %s --spmdc-schedule-kernels --spmdc-map-to-gpu="shared-bytes=232448 cluster-blocks=8" --spmdc-emit-gpu-kernels | FileCheck %s --check-prefix=CLUSTER
// RUN: not spmd-opt %s --spmdc-schedule-kernels --spmdc-emit-gpu-kernels 2>&1 | FileCheck %s --check-prefix=UNMAPPED

// UNMAPPED: error: kernel 'relu' is not mapped to a GPU's threads; start from stage 'partitioned' or an earlier one

// A pointer for each operand, and one for the mesh coordinates; the output may overwrite the input, so neither is
// noalias. A thread beyond the last element does nothing.
// CHECK-LABEL: gpu.func @relu(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-SAME: spmd.noalias = array<i1: false, false, true>
// CHECK-SAME: spmd.readonly = array<i1: false, false, true>
// CHECK: gpu.thread_id x
// CHECK: gpu.block_id x
// CHECK: llvm.cond_br
// CHECK: llvm.load {{.*}} -> f32
// CHECK: arith.maximumf
// CHECK: llvm.store {{.*}} : f32
plan.kernel @relu(%x: !spmd.array<f32[1000]>) {
  %zero = array.constant dense<0.0> : tensor<1000xf32> -> <f32[1000]>
  %0 = array.maximum %x, %zero : <f32[1000]>
  plan.return %0 : !spmd.array<f32[1000]>
}

// A row of one warp: five shuffles, no shared memory and no barrier of the block.
// CHECK-LABEL: gpu.func @row_of_a_warp
// CHECK-NOT: gpu.barrier
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: gpu.{{shuffle|barrier}}
plan.kernel @row_of_a_warp(%x: !spmd.array<i32[8, 128]>) {
  %0 = array.reduce sum %x dims [1] : <i32[8, 128]> -> <i32[8]>
  plan.return %0 : !spmd.array<i32[8]>
}

// A row of four lanes: two shuffles. The threads beyond the last row take part in them, and store nothing.
// CHECK-LABEL: gpu.func @row_of_lanes
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[ROW:.*]], %{{.*}} : i64
// CHECK: arith.select %[[INSIDE]], %[[ROW]]
// CHECK-COUNT-2: gpu.shuffle xor
// CHECK-NOT: gpu.{{shuffle|barrier}}
// CHECK: llvm.cond_br %[[INSIDE]]
plan.kernel @row_of_lanes(%x: !spmd.array<i32[70001, 64]>) {
  %0 = array.reduce sum %x dims [1] : <i32[70001, 64]> -> <i32[70001]>
  plan.return %0 : !spmd.array<i32[70001]>
}

// A row of eight warps: their sums go through shared memory, and each warp adds them up in three more shuffles. There
// are enough rows for all multiprocessors, so a block is no larger.
// CHECK-LABEL: gpu.func @row_of_a_block
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK-COUNT-3: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
plan.kernel @row_of_a_block(%x: !spmd.array<i32[300, 10000]>) {
  %0 = array.reduce sum %x dims [1] : <i32[300, 10000]> -> <i32[300]>
  plan.return %0 : !spmd.array<i32[300]>
}

// Strips of a column, each of one thread, use shared memory: one thread adds them up between two barriers.
// CHECK-LABEL: gpu.func @column
// CHECK-COUNT-2: gpu.barrier
// CHECK-NOT: gpu.{{shuffle|barrier}}
plan.kernel @column(%x: !spmd.array<i32[64, 1000]>) {
  %0 = array.reduce sum %x dims [0] : <i32[64, 1000]> -> <i32[1000]>
  plan.return %0 : !spmd.array<i32[1000]>
}

// Blocks of a cluster arrive when they begin. The first eight threads of each write its maximum to all blocks after they
// have waited, and read all maxima after another barrier.
// CHECK-LABEL: gpu.func @row_of_a_cluster
// CLUSTER-LABEL: gpu.func @row_of_a_cluster
// CLUSTER-SAME: spmd.cluster_blocks = 8
// CLUSTER: nvvm.cluster.arrive.relaxed {aligned}
// CLUSTER: gpu.barrier
// CLUSTER: nvvm.cluster.wait {aligned}
// CLUSTER: llvm.call_intrinsic "llvm.nvvm.mapa"
// CLUSTER: llvm.store
// CLUSTER: nvvm.cluster.arrive {aligned}
// CLUSTER-NEXT: nvvm.cluster.wait {aligned}
// CLUSTER-COUNT-3: gpu.shuffle xor
// CLUSTER-NOT: nvvm.cluster
plan.kernel @row_of_a_cluster(%x: !spmd.array<f32[40, 65536]>) {
  %m = array.reduce max %x dims [1] : <f32[40, 65536]> -> <f32[40]>
  %mb = array.broadcast_in_dim %m dims [0] : <f32[40]> -> <f32[40, 65536]>
  %d = array.subtract %x, %mb : <f32[40, 65536]>
  plan.return %d : !spmd.array<f32[40, 65536]>
}
