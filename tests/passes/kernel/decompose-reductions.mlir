// RUN: spmd-opt %s --spmdc-decompose-reductions --split-input-file | FileCheck %s
// RUN: spmd-opt %s --spmdc-decompose-reductions=for-gpu --split-input-file | FileCheck %s --check-prefix=GPU
// RUN: spmd-opt %s --spmdc-decompose-reductions="for-gpu gpu-shared-bytes=232448 gpu-cluster-blocks=8" --split-input-file | FileCheck %s --check-prefix=CLUSTER

// A sum over all elements is split into blocks by its shape alone.
// CHECK-LABEL: func.func @full
// CHECK-NEXT: %[[B:.*]] = array.reshape %arg0 : <f32[1048576]> -> <f32[64, 16384]>
// CHECK-NEXT: %[[P:.*]] = array.reduce sum %[[B]] dims [1]
// CHECK-NEXT: array.reduce sum %[[P]] dims [0] : <f32[64]> -> <f32[]>
func.func @full(%x: !spmd.array<f32[1048576]>) -> !spmd.array<f32[]> {
  %0 = array.reduce sum %x dims [0] : <f32[1048576]> -> <f32[]>
  return %0 : !spmd.array<f32[]>
}

// -----

// Columns of short rows: the rows of a block are as far apart as there are blocks, whose results are one long row.
// CHECK-LABEL: func.func @short_rows
// CHECK-NEXT: %[[B:.*]] = array.reshape %arg0 : <f32[8192, 12]> -> <f32[64, 128, 12]>
// CHECK-NEXT: %[[P:.*]] = array.reduce sum %[[B]] dims [0] : <f32[64, 128, 12]> -> <f32[128, 12]>
// CHECK-NEXT: array.reduce sum %[[P]] dims [0] : <f32[128, 12]> -> <f32[12]>
func.func @short_rows(%x: !spmd.array<f32[8192, 12]>) -> !spmd.array<f32[12]> {
  %0 = array.reduce sum %x dims [0] : <f32[8192, 12]> -> <f32[12]>
  return %0 : !spmd.array<f32[12]>
}

// -----

// Several reduced dimensions: a block is contiguous, whichever dimension is the longest.
// CHECK-LABEL: func.func @matrix
// CHECK-NEXT: %[[B:.*]] = array.reshape %arg0 : <f32[2048, 4096]> -> <f32[512, 4, 4096]>
// CHECK-NEXT: %[[P:.*]] = array.reduce sum %[[B]] dims [1, 2] : <f32[512, 4, 4096]> -> <f32[512]>
// CHECK-NEXT: array.reduce sum %[[P]] dims [0] : <f32[512]> -> <f32[]>
func.func @matrix(%x: !spmd.array<f32[2048, 4096]>) -> !spmd.array<f32[]> {
  %0 = array.reduce sum %x dims [0, 1] : <f32[2048, 4096]> -> <f32[]>
  return %0 : !spmd.array<f32[]>
}

// -----

// Enough rows outside of the innermost dimension, which has no divisor near the size of a block: no remainder.
// CHECK-LABEL: func.func @long_rows
// CHECK-NEXT: %[[P:.*]] = array.reduce sum %arg0 dims [1] : <f32[64, 99991]> -> <f32[64]>
// CHECK-NEXT: array.reduce sum %[[P]] dims [0] : <f32[64]> -> <f32[]>
func.func @long_rows(%x: !spmd.array<f32[64, 99991]>) -> !spmd.array<f32[]> {
  %0 = array.reduce sum %x dims [0, 1] : <f32[64, 99991]> -> <f32[]>
  return %0 : !spmd.array<f32[]>
}

// -----

// A kept dimension between reduced ones, and a remainder.
// CHECK-LABEL: func.func @kept_between
// CHECK: array.slice %arg0 [0, 0, 0] to [995, 3, 3000] step [1, 1, 1]
// CHECK: array.reshape %{{.*}} : <f32[995, 3, 3000]> -> <f32[199, 5, 3, 3000]>
// CHECK-NEXT: %[[P:.*]] = array.reduce max %{{.*}} dims [1, 3] : <f32[199, 5, 3, 3000]> -> <f32[199, 3]>
// CHECK-NEXT: array.reduce max %[[P]] dims [0] : <f32[199, 3]> -> <f32[3]>
// CHECK: array.slice %arg0 [995, 0, 0] to [997, 3, 3000] step [1, 1, 1]
func.func @kept_between(%x: !spmd.array<f32[997, 3, 3000]>) -> !spmd.array<f32[3]> {
  %0 = array.reduce max %x dims [0, 2] : <f32[997, 3, 3000]> -> <f32[3]>
  return %0 : !spmd.array<f32[3]>
}

// -----

// A prime number of elements: blocks and a tail.
// CHECK-LABEL: func.func @tail
// CHECK: array.slice %arg0 [0] to [98304] step [1]
// CHECK: array.reshape %{{.*}} : <f32[98304]> -> <f32[6, 16384]>
// CHECK: array.slice %arg0 [98304] to [99991] step [1]
// CHECK: array.maximum
func.func @tail(%x: !spmd.array<f32[99991]>) -> !spmd.array<f32[]> {
  %0 = array.reduce max %x dims [0] : <f32[99991]> -> <f32[]>
  return %0 : !spmd.array<f32[]>
}

// -----

// Partial sums of half precision are kept in f32.
// CHECK-LABEL: func.func @half
// CHECK-NEXT: %[[W:.*]] = array.convert %arg0 : <bf16[1048576]> -> <f32[1048576]>
// CHECK: array.reduce sum %{{.*}} : <f32[64]> -> <f32[]>
// CHECK-NEXT: array.convert %{{.*}} : <f32[]> -> <bf16[]>
func.func @half(%x: !spmd.array<bf16[1048576]>) -> !spmd.array<bf16[]> {
  %0 = array.reduce sum %x dims [0] : <bf16[1048576]> -> <bf16[]>
  return %0 : !spmd.array<bf16[]>
}

// -----

// Many rows: no split.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT: array.reduce
// CHECK-NEXT: return
func.func @rows(%x: !spmd.array<f32[4096, 4096]>) -> !spmd.array<f32[4096]> {
  %0 = array.reduce sum %x dims [1] : <f32[4096, 4096]> -> <f32[4096]>
  return %0 : !spmd.array<f32[4096]>
}

// -----

// An argmax is a maximum and its first position; NaNs are searched themselves.
// CHECK-LABEL: func.func @argmax
// CHECK-NEXT: %[[M:.*]] = array.reduce max %arg0 dims [1]
// CHECK-NEXT: %[[B:.*]] = array.broadcast_in_dim %[[M]]
// CHECK-NEXT: %[[E:.*]] = array.compare eq %arg0, %[[B]]
// CHECK-NEXT: %[[N:.*]] = array.compare ne %arg0, %arg0
// CHECK-NEXT: %[[O:.*]] = array.or %[[E]], %[[N]]
// CHECK: %[[S:.*]] = array.select %[[O]]
// CHECK-NEXT: array.reduce min %[[S]] dims [1] : <i32[8, 100]> -> <i32[8]>
func.func @argmax(%x: !spmd.array<f32[8, 100]>) -> !spmd.array<i32[8]> {
  %0 = array.arg_reduce %x max = true dim 1 : <f32[8, 100]> -> <i32[8]>
  return %0 : !spmd.array<i32[8]>
}

// -----

// One element needs no combination.
// CHECK-LABEL: func.func @dimensions_of_one_element_are_dropped
// CHECK-NEXT: %[[A:.*]] = array.reshape %arg0 : <f32[5, 1, 4, 1]> -> <f32[5, 1, 4]>
// CHECK-NEXT: %[[B:.*]] = array.reshape %arg0 : <f32[5, 1, 4, 1]> -> <f32[5, 4, 1]>
// CHECK-NEXT: %[[C:.*]] = array.reduce sum %[[B]] dims [1] : <f32[5, 4, 1]> -> <f32[5, 1]>
// CHECK-NEXT: return %[[A]], %[[C]]
func.func @dimensions_of_one_element_are_dropped(%x: !spmd.array<f32[5, 1, 4, 1]>) -> (!spmd.array<f32[5, 1, 4]>, !spmd.array<f32[5, 1]>) {
  %0 = array.reduce sum %x dims [3] : <f32[5, 1, 4, 1]> -> <f32[5, 1, 4]>
  %1 = array.reduce sum %x dims [1, 2] : <f32[5, 1, 4, 1]> -> <f32[5, 1]>
  return %0, %1 : !spmd.array<f32[5, 1, 4]>, !spmd.array<f32[5, 1]>
}

// -----

// A GPU needs many blocks, for any number of columns; a CPU reads rows one behind the other in each part.
// CHECK-LABEL: func.func @columns
// CHECK-NEXT: %[[B:.*]] = array.reshape %arg0 : <f32[8192, 8192]> -> <f32[32, 256, 8192]>
// CHECK-NEXT: %[[P:.*]] = array.reduce sum %[[B]] dims [1]
// CHECK-NEXT: array.reduce sum %[[P]] dims [0] : <f32[32, 8192]> -> <f32[8192]>
// GPU-LABEL: func.func @columns
// GPU-NEXT: %[[B:.*]] = array.reshape %arg0 : <f32[8192, 8192]> -> <f32[32, 256, 8192]>
// GPU-NEXT: %[[P:.*]] = array.reduce sum %[[B]] dims [1]
// GPU-NEXT: array.reduce sum %[[P]] dims [0] : <f32[32, 8192]> -> <f32[8192]>
func.func @columns(%x: !spmd.array<f32[8192, 8192]>) -> !spmd.array<f32[8192]> {
  %0 = array.reduce sum %x dims [0] : <f32[8192, 8192]> -> <f32[8192]>
  return %0 : !spmd.array<f32[8192]>
}

// -----

// Rows of 256 elements of f32 are long enough for that, rows of 255 are not: there the number of lanes counts alone.
// CHECK-LABEL: func.func @long_and_short_rows
// CHECK: array.reduce max %{{.*}} dims [1] : <f32[32, 64, 256]> -> <f32[32, 256]>
// CHECK: array.reduce max %{{.*}} dims [1] : <f32[4, 512, 255]> -> <f32[4, 255]>
func.func @long_and_short_rows(%x: !spmd.array<f32[2048, 256]>, %y: !spmd.array<f32[2048, 255]>)
    -> (!spmd.array<f32[256]>, !spmd.array<f32[255]>) {
  %0 = array.reduce max %x dims [0] : <f32[2048, 256]> -> <f32[256]>
  %1 = array.reduce max %y dims [0] : <f32[2048, 255]> -> <f32[255]>
  return %0, %1 : !spmd.array<f32[256]>, !spmd.array<f32[255]>
}

// -----

// Too few rows for parts of 64.
// CHECK-LABEL: func.func @few_rows
// CHECK-NEXT: array.reduce sum %arg0 dims [0] : <f32[511, 8192]> -> <f32[8192]>
func.func @few_rows(%x: !spmd.array<f32[511, 8192]>) -> !spmd.array<f32[8192]> {
  %0 = array.reduce sum %x dims [0] : <f32[511, 8192]> -> <f32[8192]>
  return %0 : !spmd.array<f32[8192]>
}

// -----

// Clusters of eight blocks keep these rows until their maximum is known, so that one kernel reads them once. Nothing
// reads them again after the sum, which needs more blocks.
// GPU-LABEL: func.func @very_long_rows
// GPU: array.reduce max {{.*}} : <f32[256, {{.*}}]>
// CLUSTER-LABEL: func.func @very_long_rows
// CLUSTER-NEXT: array.reduce max %arg0 dims [1] : <f32[256, 131072]> -> <f32[256]>
// CLUSTER: array.reshape
// CLUSTER: array.reduce sum {{.*}} : <f32[256, {{[0-9]+}}, {{[0-9]+}}]>
func.func @very_long_rows(%x: !spmd.array<f32[256, 131072]>, %y: !spmd.array<f32[256, 131072]>)
    -> (!spmd.array<f32[256, 131072]>, !spmd.array<f32[256]>) {
  %m = array.reduce max %x dims [1] : <f32[256, 131072]> -> <f32[256]>
  %n = array.negate %m : <f32[256]>
  %b = array.broadcast_in_dim %n dims [0] : <f32[256]> -> <f32[256, 131072]>
  %0 = array.add %x, %b : <f32[256, 131072]>
  %1 = array.reduce sum %y dims [1] : <f32[256, 131072]> -> <f32[256]>
  return %0, %1 : !spmd.array<f32[256, 131072]>, !spmd.array<f32[256]>
}

// -----

// A scan in blocks, each of which continues the one before it. The last block is padded.
// CHECK-LABEL: func.func @scan
// CHECK-NEXT: array.cumulative sum %arg0 dim 0
// CHECK-NEXT: return
// GPU-LABEL: func.func @scan
// GPU: %[[X:.*]] = array.pad %arg0 with %{{.*}} low [0] high [4093] interior [0] : <f32[262147]>, <f32[]> -> <f32[266240]>
// GPU-NEXT: %[[B:.*]] = array.reshape %[[X]] : <f32[266240]> -> <f32[65, 4096]>
// GPU-NEXT: %[[R:.*]] = array.cumulative sum %[[B]] dim 1 continued : <f32[65, 4096]> -> <f32[65, 4096]>
// GPU-NEXT: %[[A:.*]] = array.reshape %[[R]]
// GPU-NEXT: array.slice %[[A]] [0] to [262147] step [1]
func.func @scan(%x: !spmd.array<f32[262147]>) -> !spmd.array<f32[262147]> {
  %0 = array.cumulative sum %x dim 0 : <f32[262147]> -> <f32[262147]>
  return %0 : !spmd.array<f32[262147]>
}

// -----

// A continued scan scans two dimensions as one, on a CPU too; so does one from the end.
// CHECK-LABEL: func.func @continued
// CHECK-NEXT: %[[B:.*]] = array.reshape %arg0 : <i32[3, 5, 7, 2]> -> <i32[3, 35, 2]>
// CHECK-NEXT: %[[E:.*]] = array.reverse %[[B]] dims [1]
// CHECK-NEXT: %[[R:.*]] = array.cumulative max %[[E]] dim 1 : <i32[3, 35, 2]> -> <i32[3, 35, 2]>
// CHECK-NEXT: %[[F:.*]] = array.reverse %[[R]] dims [1]
// CHECK-NEXT: array.reshape %[[F]] : <i32[3, 35, 2]> -> <i32[3, 5, 7, 2]>
// GPU-LABEL: func.func @continued
// GPU-NOT: continued
// GPU: return
func.func @continued(%x: !spmd.array<i32[3, 5, 7, 2]>) -> !spmd.array<i32[3, 5, 7, 2]> {
  %0 = array.cumulative max %x dim 2 reversed continued : <i32[3, 5, 7, 2]> -> <i32[3, 5, 7, 2]>
  return %0 : !spmd.array<i32[3, 5, 7, 2]>
}

// -----

// Half precision accumulates in f32 within the blocks: nothing is converted. 264192 has a divisor near 4096.
// GPU-LABEL: func.func @half_scan
// GPU-NEXT: array.reshape %arg0 : <bf16[264192]> -> <bf16[86, 3072]>
// GPU-NEXT: array.cumulative sum %{{.*}} dim 1 continued : <bf16[86, 3072]> -> <bf16[86, 3072]>
// GPU-NEXT: array.reshape
// GPU-NEXT: return
func.func @half_scan(%x: !spmd.array<bf16[264192]>) -> !spmd.array<bf16[264192]> {
  %0 = array.cumulative sum %x dim 0 : <bf16[264192]> -> <bf16[264192]>
  return %0 : !spmd.array<bf16[264192]>
}

// -----

// A long line of a small array is continued, too; shorter lines are not, nor are many.
// GPU-LABEL: func.func @lines
// GPU: array.cumulative sum %{{.*}} dim 1 continued : <f32[16, 4096]>
// GPU: array.cumulative sum %arg1 dim 1 : <f32[2, 65535]>
// GPU: array.cumulative sum %arg2 dim 1 : <f32[264, 8192]>
func.func @lines(%x: !spmd.array<f32[65536]>, %y: !spmd.array<f32[2, 65535]>, %z: !spmd.array<f32[264, 8192]>) -> (!spmd.array<f32[65536]>, !spmd.array<f32[2, 65535]>, !spmd.array<f32[264, 8192]>) {
  %0 = array.cumulative sum %x dim 0 : <f32[65536]> -> <f32[65536]>
  %1 = array.cumulative sum %y dim 1 : <f32[2, 65535]> -> <f32[2, 65535]>
  %2 = array.cumulative sum %z dim 1 : <f32[264, 8192]> -> <f32[264, 8192]>
  return %0, %1, %2 : !spmd.array<f32[65536]>, !spmd.array<f32[2, 65535]>, !spmd.array<f32[264, 8192]>
}

// -----

// Totals of 64 bits are no part of a word: the sums of blocks, the sum before each of them, which is added to its first
// element, and a scan of each.
// GPU-LABEL: func.func @wide_scan
// GPU: %[[X:.*]] = array.pad %arg0 with %{{.*}} low [0] high [8189] interior [0] : <f64[262147]>, <f64[]> -> <f64[270336]>
// GPU-NEXT: %[[B:.*]] = array.reshape %[[X]] : <f64[270336]> -> <f64[33, 8192]>
// GPU-NEXT: %[[T:.*]] = array.reduce sum %[[B]] dims [1]
// GPU: %[[S:.*]] = array.cumulative sum %[[T]] dim 0 : <f64[33]> -> <f64[33]>
// GPU: %[[E:.*]] = array.pad %[[S]] with %{{.*}} low [1] high [-1] interior [0]
// GPU-NEXT: %[[W:.*]] = array.broadcast_in_dim %[[E]] dims [0]
// GPU: %[[F:.*]] = array.select
// GPU-NEXT: %[[R:.*]] = array.cumulative sum %[[F]] dim 1 : <f64[33, 8192]> -> <f64[33, 8192]>
// GPU-NEXT: %[[A:.*]] = array.reshape %[[R]]
// GPU-NEXT: array.slice %[[A]] [0] to [262147] step [1]
func.func @wide_scan(%x: !spmd.array<f64[262147]>) -> !spmd.array<f64[262147]> {
  %0 = array.cumulative sum %x dim 0 : <f64[262147]> -> <f64[262147]>
  return %0 : !spmd.array<f64[262147]>
}
