// RUN: spmd-opt %s --spmdc-schedule-kernels --spmdc-map-to-gpu --split-input-file | FileCheck %s
// RUN: spmd-opt %s --spmdc-schedule-kernels --split-input-file | FileCheck %s --check-prefix=CPU

// Neighbours in one thread, as many as 16 bytes hold; the grid covers the array.
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

// A row of 32 elements is a warp's, eight rows are a block's.
// CHECK-LABEL: plan.kernel @short_rows
// CHECK-SAME: mapping = "32 threads a row, 8 rows a block; 1 unrolled rounds of 1{{.*}}; 50 blocks of 256 threads"
plan.kernel @short_rows(%x: !spmd.array<f32[400, 31]>) {
  %0 = array.reduce sum %x dims [1] : <f32[400, 31]> -> <f32[400]>
  plan.return %0 : !spmd.array<f32[400]>
}

// -----

// A few long rows have a block each.
// CHECK-LABEL: plan.kernel @long_rows
// CHECK-SAME: mapping = "256 threads a row, 1 rows a block; 10 rounds of 4{{.*}}; 3 blocks of 256 threads"
plan.kernel @long_rows(%x: !spmd.array<f32[3, 10000]>) {
  %0 = array.reduce sum %x dims [1] : <f32[3, 10000]> -> <f32[3]>
  plan.return %0 : !spmd.array<f32[3]>
}

// -----

// Over the first dimension, neighbouring columns are neighbouring threads.
// CHECK-LABEL: plan.kernel @columns
// CHECK-SAME: mapping = "a thread a row; 8 blocks of 128 threads"
plan.kernel @columns(%x: !spmd.array<f32[100, 1000]>) {
  %0 = array.reduce sum %x dims [0] : <f32[100, 1000]> -> <f32[1000]>
  plan.return %0 : !spmd.array<f32[1000]>
}

// -----

// What is read across goes through shared memory in squares; it may not be overwritten.
// CHECK-LABEL: plan.kernel @transpose
// CHECK-SAME: mapping = "squares, 1 loads through shared memory; 4 blocks of 256 threads"
// CHECK-SAME: overwrites = {{\[\[1\]\]}}
plan.kernel @transpose(%x: !spmd.array<f32[64, 64]>, %y: !spmd.array<f32[64, 64]>) {
  %t = array.transpose %x perm [1, 0] : <f32[64, 64]> -> <f32[64, 64]>
  %0 = array.add %t, %y : <f32[64, 64]>
  plan.return %0 : !spmd.array<f32[64, 64]>
}

// -----

// The threads of a row store the first output before they scan: it may not lie over what the scan still reads. A CPU
// walks the row once.
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

// Nothing to compute, no block.
// CHECK-LABEL: plan.kernel @empty
// CHECK-SAME: extent = 0 : i64
plan.kernel @empty(%x: !spmd.array<f32[0, 5]>) {
  %0 = array.negate %x : <f32[0, 5]>
  plan.return %0 : !spmd.array<f32[0, 5]>
}
