// RUN: spmd-opt %s --spmdc-schedule-kernels --spmdc-map-to-gpu --split-input-file | FileCheck %s
// RUN: spmd-opt %s --spmdc-schedule-kernels --spmdc-map-to-gpu=shared-bytes=232448 --split-input-file | FileCheck %s --check-prefix=LARGE
// RUN: spmd-opt %s --spmdc-schedule-kernels --spmdc-map-to-gpu="shared-bytes=232448 cluster-blocks=8" --split-input-file | FileCheck %s --check-prefix=CLUSTER
// RUN: spmd-opt %s --spmdc-schedule-kernels --split-input-file | FileCheck %s --check-prefix=CPU

// Adjacent elements in one thread, as many as 16 bytes hold; the grid covers the array.
// CHECK-LABEL: plan.kernel @elementwise
// CHECK-SAME: block_threads = 256 : i64, extent = 256 : i64, grain = 1 : i64
// CHECK-SAME: mapping = "flat, 4 elements a thread; 256 blocks of 256 threads"
// CHECK-SAME: overwrites = {{\[\[0, 1\]\]}}
plan.kernel @elementwise(%x: !spmd.array<f32[512, 512]>, %y: !spmd.array<f32[512, 512]>) {
  %0 = array.multiply %x, %y : <f32[512, 512]>
  plan.return %0 : !spmd.array<f32[512, 512]>
}

// -----

// Few elements: more threads rather than wide accesses.
// CHECK-LABEL: plan.kernel @short
// CHECK-SAME: mapping = "flat, 1 elements a thread; 4 blocks of 256 threads"
plan.kernel @short(%x: !spmd.array<f32[1000]>) {
  %0 = array.negate %x : <f32[1000]>
  plan.return %0 : !spmd.array<f32[1000]>
}

// -----

// A row of 31 elements is one warp, eight rows are one block.
// CHECK-LABEL: plan.kernel @short_rows
// CHECK-SAME: mapping = "32 threads a row, 8 rows a block; 1 unrolled rounds of 1{{.*}}; 50 blocks of 256 threads"
plan.kernel @short_rows(%x: !spmd.array<f32[400, 31]>) {
  %0 = array.reduce sum %x dims [1] : <f32[400, 31]> -> <f32[400]>
  plan.return %0 : !spmd.array<f32[400]>
}

// -----

// Many short rows: four threads read 64 adjacent bytes of a row at a time, four times.
// CHECK-LABEL: plan.kernel @narrow_rows
// CHECK-SAME: mapping = "4 threads a row, 64 rows a block; 4 unrolled rounds of 4{{.*}}; 16384 blocks of 256 threads"
plan.kernel @narrow_rows(%x: !spmd.array<f32[1048576, 64]>) {
  %0 = array.reduce sum %x dims [1] : <f32[1048576, 64]> -> <f32[1048576]>
  plan.return %0 : !spmd.array<f32[1048576]>
}

// -----

// The same of 16 bits, whose rows have 128 bytes.
// CHECK-LABEL: plan.kernel @narrow_rows_of_halves
// CHECK-SAME: mapping = "4 threads a row, 64 rows a block; 2 unrolled rounds of 8{{.*}}; 16384 blocks of 256 threads"
plan.kernel @narrow_rows_of_halves(%x: !spmd.array<bf16[1048576, 64]>) {
  %0 = array.reduce sum %x dims [1] : <bf16[1048576, 64]> -> <bf16[1048576]>
  plan.return %0 : !spmd.array<bf16[1048576]>
}

// -----

// Fewer rows get more threads each, but no more than they have accesses. Blocks consist of full warps.
// CHECK-LABEL: plan.kernel @few_narrow_rows
// CHECK-SAME: mapping = "16 threads a row, 4 rows a block; 1 unrolled rounds of 4{{.*}}; 1 blocks of 64 threads"
plan.kernel @few_narrow_rows(%x: !spmd.array<f32[3, 64]>) {
  %0 = array.reduce sum %x dims [1] : <f32[3, 64]> -> <f32[3]>
  plan.return %0 : !spmd.array<f32[3]>
}

// -----

// A few long rows have a block each, of the largest size.
// CHECK-LABEL: plan.kernel @long_rows
// CHECK-SAME: mapping = "1024 threads a row, 1 rows a block; 3 unrolled rounds of 4{{.*}}; 3 blocks of 1024 threads"
plan.kernel @long_rows(%x: !spmd.array<f32[3, 10000]>) {
  %0 = array.reduce sum %x dims [1] : <f32[3, 10000]> -> <f32[3]>
  plan.return %0 : !spmd.array<f32[3]>
}

// -----

// Over the first dimension, adjacent columns are adjacent threads, and strips of a column are a warp each.
// CHECK-LABEL: plan.kernel @columns
// CHECK-SAME: mapping = "16 threads a row, one 32 from the next, 16 elements ahead; 32 blocks of 512 threads"
plan.kernel @columns(%x: !spmd.array<f32[100, 1000]>) {
  %0 = array.reduce sum %x dims [0] : <f32[100, 1000]> -> <f32[1000]>
  plan.return %0 : !spmd.array<f32[1000]>
}

// -----

// Many columns: a thread takes adjacent ones, so that it reads 16 bytes at once.
// CHECK-LABEL: plan.kernel @many_columns
// CHECK-SAME: mapping = "2 threads a row, one 64 from the next, 8 rows a thread, 2 elements ahead; 1024 blocks of 128 threads"
plan.kernel @many_columns(%x: !spmd.array<bf16[16, 512, 32768]>) {
  %0 = array.reduce sum %x dims [1] : <bf16[16, 512, 32768]> -> <bf16[16, 32768]>
  plan.return %0 : !spmd.array<bf16[16, 32768]>
}

// -----

// A softmax keeps a long row in the shared memory that the launch requests, if a block may have that much.
// CHECK-LABEL: plan.kernel @long_softmax
// CHECK-SAME: mapping = "256 threads a row, 1 rows a block; 32 rounds of 4; 1024 blocks of 256 threads"
// CHECK-SAME: shared_limit = 49152 : i64
// LARGE-LABEL: plan.kernel @long_softmax
// LARGE-SAME: mapping = "1024 threads a row, 1 rows a block; 8 rounds of 4; keeps in shared memory, 131072 bytes that the launch asks for; 1024 blocks of 1024 threads"
// LARGE-SAME: overwrites = {{\[\[0\]\]}}
// LARGE-SAME: shared_bytes = 131072 : i64, shared_limit = 232448 : i64
// Four blocks keep it in their registers, where there are clusters.
// CLUSTER-LABEL: plan.kernel @long_softmax
// CLUSTER-SAME: extent = 4096 : i64
// CLUSTER-SAME: mapping = "2048 threads a row, 4 blocks a row; 4 unrolled rounds of 4; 4096 blocks of 512 threads"
// CLUSTER-SAME: max_cluster_blocks = 8 : i64
// CLUSTER-SAME: overwrites = {{\[\[0\]\]}}
// CLUSTER-NOT: shared_bytes
plan.kernel @long_softmax(%x: !spmd.array<f32[1024, 32768]>) {
  %m = array.reduce max %x dims [1] : <f32[1024, 32768]> -> <f32[1024]>
  %mb = array.broadcast_in_dim %m dims [0] : <f32[1024]> -> <f32[1024, 32768]>
  %s = array.subtract %x, %mb : <f32[1024, 32768]>
  %e = array.exp %s : <f32[1024, 32768]>
  %z = array.reduce sum %e dims [1] : <f32[1024, 32768]> -> <f32[1024]>
  %zb = array.broadcast_in_dim %z dims [0] : <f32[1024]> -> <f32[1024, 32768]>
  %p = array.divide %e, %zb : <f32[1024, 32768]>
  plan.return %p : !spmd.array<f32[1024, 32768]>
}

// -----

// A row that no block can keep: eight blocks keep it in their shared memory.
// CLUSTER-LABEL: plan.kernel @very_long_rows
// CLUSTER-SAME: mapping = "4096 threads a row, 8 blocks a row; 8 rounds of 4; keeps in shared memory, 65536 bytes that the launch asks for; 2048 blocks of 512 threads"
plan.kernel @very_long_rows(%x: !spmd.array<f32[256, 131072]>) {
  %m = array.reduce max %x dims [1] : <f32[256, 131072]> -> <f32[256]>
  %mb = array.broadcast_in_dim %m dims [0] : <f32[256]> -> <f32[256, 131072]>
  %d = array.subtract %x, %mb : <f32[256, 131072]>
  plan.return %d : !spmd.array<f32[256, 131072]>
}

// -----

// Sums of long rows keep nothing, and scans have no clusters.
// CLUSTER-LABEL: plan.kernel @sums_of_very_long_rows
// CLUSTER-SAME: mapping = "256 threads a row, 1 rows a block
plan.kernel @sums_of_very_long_rows(%x: !spmd.array<f32[512, 131072]>) {
  %m = array.reduce sum %x dims [1] : <f32[512, 131072]> -> <f32[512]>
  plan.return %m : !spmd.array<f32[512]>
}

// -----

// CLUSTER-LABEL: plan.kernel @scan_of_centred_rows
// CLUSTER-SAME: mapping = "{{[0-9]+}} threads a row, 1 rows a block
plan.kernel @scan_of_centred_rows(%x: !spmd.array<f32[512, 32768]>) {
  %m = array.reduce max %x dims [1] : <f32[512, 32768]> -> <f32[512]>
  %mb = array.broadcast_in_dim %m dims [0] : <f32[512]> -> <f32[512, 32768]>
  %d = array.subtract %x, %mb : <f32[512, 32768]>
  %c = array.cumulative sum %d dim 1 : <f32[512, 32768]> -> <f32[512, 32768]>
  plan.return %c : !spmd.array<f32[512, 32768]>
}

// -----

// A shorter row is read once into registers.
// CHECK-LABEL: plan.kernel @centred
// CHECK-SAME: mapping = "256 threads a row, 1 rows a block; 2 unrolled rounds of 8; 1 unrolled rounds of 1; 8192 blocks of 256 threads"
plan.kernel @centred(%x: !spmd.array<bf16[8192, 4096]>) {
  %m = array.reduce max %x dims [1] : <bf16[8192, 4096]> -> <bf16[8192]>
  %mb = array.broadcast_in_dim %m dims [0] : <bf16[8192]> -> <bf16[8192, 4096]>
  %d = array.subtract %x, %mb : <bf16[8192, 4096]>
  plan.return %d, %m : !spmd.array<bf16[8192, 4096]>, !spmd.array<bf16[8192]>
}

// -----

// Crosswise reads go through shared memory in squares; their array may not be overwritten.
// CHECK-LABEL: plan.kernel @transpose
// CHECK-SAME: mapping = "squares of 32, 1 elements a thread, 1 loads through shared memory; 4 blocks of 256 threads"
// CHECK-SAME: overwrites = {{\[\[1\]\]}}
plan.kernel @transpose(%x: !spmd.array<f32[64, 64]>, %y: !spmd.array<f32[64, 64]>) {
  %t = array.transpose %x perm [1, 0] : <f32[64, 64]> -> <f32[64, 64]>
  %0 = array.add %t, %y : <f32[64, 64]>
  plan.return %0 : !spmd.array<f32[64, 64]>
}

// -----

// Narrow elements are accessed in words, if the sizes allow it.
// CHECK-LABEL: plan.kernel @transpose_halves
// CHECK-SAME: mapping = "squares of 64, 2 elements a thread, 1 loads through shared memory; 4 blocks of 256 threads"
plan.kernel @transpose_halves(%x: !spmd.array<bf16[66, 128]>) {
  %t = array.transpose %x perm [1, 0] : <bf16[66, 128]> -> <bf16[128, 66]>
  plan.return %t : !spmd.array<bf16[128, 66]>
}

// -----

// CHECK-LABEL: plan.kernel @transpose_bytes
// CHECK-SAME: mapping = "squares of 64, 2 elements a thread, 1 loads through shared memory; 4 blocks of 256 threads"
plan.kernel @transpose_bytes(%x: !spmd.array<i8[66, 128]>) {
  %t = array.transpose %x perm [1, 0] : <i8[66, 128]> -> <i8[128, 66]>
  plan.return %t : !spmd.array<i8[128, 66]>
}

// -----

// The threads of a row store the first output before they scan: it may not overwrite elements that the scan still
// reads. A CPU iterates over the row once.
// CHECK-LABEL: plan.kernel @store_and_scan
// CHECK-SAME: overwrites = {{\[\[\], \[0\]\]}}
// CPU-LABEL: plan.kernel @store_and_scan
// CPU-SAME: overwrites = {{\[\[0\], \[0\]\]}}
plan.kernel @store_and_scan(%x: !spmd.array<i32[9, 500]>) {
  %0 = array.negate %x : <i32[9, 500]>
  %1 = array.cumulative sum %x dim 1 : <i32[9, 500]> -> <i32[9, 500]>
  plan.return %0, %1 : !spmd.array<i32[9, 500]>, !spmd.array<i32[9, 500]>
}

// -----

// Without elements there is no block.
// CHECK-LABEL: plan.kernel @empty
// CHECK-SAME: extent = 0 : i64
plan.kernel @empty(%x: !spmd.array<f32[0, 5]>) {
  %0 = array.negate %x : <f32[0, 5]>
  plan.return %0 : !spmd.array<f32[0, 5]>
}
