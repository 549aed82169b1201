// RUN: spmd-opt %s --spmdc-insert-reshards --spmdc-partition --spmdc-verify-partitioned --split-input-file | FileCheck %s

// The example of the README: a local product and one all_reduce over b, nothing else.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: !spmd.array<f32[1024, 1024]> {spmd.global = !spmd.array<f32[4096@a, 2048@b]>}
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @matmul(%x: !spmd.array<f32[4096@a, 2048@b]>, %y: !spmd.array<f32[2048@b, 4096@_]>) -> !spmd.array<f32[4096@a, 4096@_]> {
    // CHECK-NEXT: %[[P:.*]] = array.dot_general {{.*}} : <f32[1024, 1024]>, <f32[1024, 4096]> -> <f32[1024, 4096]>
    // CHECK-NEXT: %[[R:.*]] = spmd.all_reduce sum %[[P]] over <b> {why = "dot_general sums over a dimension sharded over 'b'
    // CHECK-NEXT: return %[[R]]
    %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[4096@a, 2048@b]>, <f32[2048@b, 4096@_]> -> <f32[4096@a, 4096@_]>
    return %0 : !spmd.array<f32[4096@a, 4096@_]>
  }
}

// -----

// 1000000 over 3: the last shard is short, and the sum must not see its padding.
// CHECK-LABEL: func.func @uneven_sum_masks_padding
module attributes {spmd.mesh = #spmd.mesh<m, a=3>} {
  func.func @uneven_sum_masks_padding(%x: !spmd.array<f32[1000000@a]>) -> !spmd.array<f32[]> {
    // CHECK: %[[I:.*]] = array.iota dim 0 : <i32[333334]>
    // CHECK: %[[N:.*]] = spmd.shard_size 1000000 over <a>
    // CHECK: %[[B:.*]] = array.broadcast_in_dim %[[N]]
    // CHECK: %[[M:.*]] = array.compare lt %[[I]], %[[B]]
    // CHECK: %[[Z:.*]] = array.constant dense<0.000000e+00>
    // CHECK: %[[V:.*]] = array.select %[[M]], %arg0, %[[Z]]
    // CHECK: %[[S:.*]] = array.reduce sum %[[V]]
    // CHECK: spmd.all_reduce sum %[[S]] over <a>
    %0 = array.reduce sum %x dims [0] : <f32[1000000@a]> -> <f32[]>
    return %0 : !spmd.array<f32[]>
  }
}

// -----

// A maximum is not a partial sum: it is combined directly behind the reduction, and padding is masked with -inf.
// CHECK-LABEL: func.func @uneven_max
module attributes {spmd.mesh = #spmd.mesh<m, a=3>} {
  func.func @uneven_max(%x: !spmd.array<f32[1000000@a]>) -> !spmd.array<f32[]> {
    // CHECK: array.constant dense<0xFF800000>
    // CHECK: %[[S:.*]] = array.reduce max
    // CHECK: spmd.all_reduce max %[[S]] over <a>
    %0 = array.reduce max %x dims [0] : <f32[1000000@a]> -> <f32[]>
    return %0 : !spmd.array<f32[]>
  }
}

// -----

// Each device counts from the begin of its shard.
// CHECK-LABEL: func.func @iota_starts_at_the_shard
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @iota_starts_at_the_shard() -> !spmd.array<i32[10@a]> {
    // CHECK: array.iota dim 0 : <i32[3]>
    // CHECK: spmd.shard_start 10 over <a>
    // CHECK: array.add
    %0 = array.iota dim 0 : <i32[10@a]>
    return %0 : !spmd.array<i32[10@a]>
  }
}

// -----

// Moving one axis from one dimension to another is one all_to_all, not a gather and a slice.
// CHECK-LABEL: func.func @moving_an_axis
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @moving_an_axis(%x: !spmd.array<f32[1024@a, 1024@_]>) -> !spmd.array<f32[1024@_, 1024@a]> {
    // CHECK-NEXT: %[[R:.*]] = spmd.all_to_all %arg0 split 1 concat 0 over <a>
    // CHECK-NEXT: return %[[R]]
    %0 = spmd.reshard %x : <f32[1024@a, 1024@_]> -> <f32[1024@_, 1024@a]>
    return %0 : !spmd.array<f32[1024@_, 1024@a]>
  }
}
