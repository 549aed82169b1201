// RUN: spmd-opt %s --split-input-file --spmdc-skip-reshapes | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-skip-reshapes --spmdc-insert-reshards --spmdc-partition --canonicalize --spmdc-verify-partitioned | FileCheck %s --check-prefix=LOCAL
// RUN: spmd-opt %s --split-input-file --spmdc-skip-reshapes --debug-only=skip-reshapes 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[skip-reshapes] {{.*}}take: not computed in front of the reshape: another user needs the reshaped array{{$}}
// TRACE: {{^}}[skip-reshapes] {{.*}}take: not computed in front of the reshape: the reshape merges no sharded dimension{{$}}

// No device has contiguous elements: they are looked up in the shards, at the shards' positions.
// CHECK-LABEL: func.func @take
// CHECK: %[[PIECES:.*]] = array.reshape %{{.*}} : <f32[4@a, 64@_, 32@_]> -> <f32[4@a, 2048@_]>
// CHECK: %[[JOINED:.*]] = array.reshape %[[PIECES]] : <f32[4@a, 2048@_]> -> <f32[8192@a]>
// CHECK: array.take %[[JOINED]], %{{.*}} dim 0 : <f32[8192@a]>, <i32[9@_]> -> <f32[9@_]>
// LOCAL-LABEL: func.func @take
// LOCAL: spmd.all_reduce sum {{.*}}: <f32[9]>
// LOCAL-NOT: spmd.all
// For each row separately, with rows sharded, too.
// CHECK-LABEL: func.func @take_along
// CHECK: array.take_along %{{.*}} dim 1 : <f32[2@b, 8192@a]>, <i32[2@b, 9@_]> -> <f32[2@b, 9@_]>
// LOCAL-LABEL: func.func @take_along
// LOCAL: spmd.all_reduce sum {{.*}} over <a> {{.*}}: <f32[1, 9]>
// LOCAL-NOT: spmd.all
// LOCAL-LABEL: func.func @wanted
// If the reshaped array has other users, it is resharded once for all.
// CHECK-LABEL: func.func @wanted
// CHECK: array.take %{{.*}} : <f32[8192@_]>
// CHECK: return
// With sharded rows each device has a run.
// CHECK-LABEL: func.func @runs
// CHECK-NEXT: array.reshape
// CHECK-NEXT: array.take
// CHECK-NEXT: return
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @take(%x: !spmd.array<f32[64@_, 128@a]>, %i: !spmd.array<i32[9@_]>) -> !spmd.array<f32[9@_]> {
    %0 = array.reshape %x : <f32[64@_, 128@a]> -> <f32[8192@_]>
    %1 = array.take %0, %i dim 0 : <f32[8192@_]>, <i32[9@_]> -> <f32[9@_]>
    return %1 : !spmd.array<f32[9@_]>
  }
  func.func @take_along(%x: !spmd.array<f32[2@b, 64@_, 128@a]>, %i: !spmd.array<i32[2@b, 9@_]>) -> !spmd.array<f32[2@b, 9@_]> {
    %0 = array.reshape %x : <f32[2@b, 64@_, 128@a]> -> <f32[2@b, 8192@_]>
    %1 = array.take_along %0, %i dim 1 : <f32[2@b, 8192@_]>, <i32[2@b, 9@_]> -> <f32[2@b, 9@_]>
    return %1 : !spmd.array<f32[2@b, 9@_]>
  }
  func.func @wanted(%x: !spmd.array<f32[64@_, 128@a]>, %i: !spmd.array<i32[9@_]>) -> (!spmd.array<f32[9@_]>, !spmd.array<f32[8192@_]>) {
    %0 = array.reshape %x : <f32[64@_, 128@a]> -> <f32[8192@_]>
    %1 = array.take %0, %i dim 0 : <f32[8192@_]>, <i32[9@_]> -> <f32[9@_]>
    return %1, %0 : !spmd.array<f32[9@_]>, !spmd.array<f32[8192@_]>
  }
  func.func @runs(%x: !spmd.array<f32[64@a, 128@_]>, %i: !spmd.array<i32[9@_]>) -> !spmd.array<f32[9@_]> {
    %0 = array.reshape %x : <f32[64@a, 128@_]> -> <f32[8192@a]>
    %1 = array.take %0, %i dim 0 : <f32[8192@a]>, <i32[9@_]> -> <f32[9@_]>
    return %1 : !spmd.array<f32[9@_]>
  }
}

// -----

// Updates that are added to zeros and then reshaped are added in the final sharding, by each device to its own shard.
// CHECK-LABEL: func.func @scatter
// CHECK: array.scatter_add %{{.*}} dim 0 : <f32[8192@a]>, <i32[9@_]>, <f32[9@_]> -> <f32[8192@a]>
// CHECK: return %{{.*}} : !spmd.array<f32[64@_, 128@a]>
// LOCAL-LABEL: func.func @scatter
// LOCAL-NOT: f32[8192]
// LOCAL-NOT: spmd.all
// LOCAL-LABEL: func.func @scatter_to_whole
// Zeros with updates at all positions, which no user needs sharded.
// CHECK-LABEL: func.func @scatter_to_whole
// CHECK-NEXT: array.constant
// CHECK-NEXT: array.scatter_add %{{.*}} : <f32[8192@_]>
// CHECK-NEXT: return
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @scatter(%i: !spmd.array<i32[9@_]>, %v: !spmd.array<f32[9@_]>) -> !spmd.array<f32[64@_, 128@a]> {
    %0 = array.constant dense<0.0> : tensor<8192xf32> -> <f32[8192@_]>
    %1 = array.scatter_add %0, %i, %v dim 0 : <f32[8192@_]>, <i32[9@_]>, <f32[9@_]> -> <f32[8192@_]>
    %2 = array.reshape %1 : <f32[8192@_]> -> <f32[64@_, 128@a]>
    return %2 : !spmd.array<f32[64@_, 128@a]>
  }
  func.func @scatter_to_whole(%i: !spmd.array<i32[9@_]>, %v: !spmd.array<f32[9@_]>) -> !spmd.array<f32[8192@_]> {
    %0 = array.constant dense<0.0> : tensor<8192xf32> -> <f32[8192@_]>
    %1 = array.scatter_add %0, %i, %v dim 0 : <f32[8192@_]>, <i32[9@_]>, <f32[9@_]> -> <f32[8192@_]>
    return %1 : !spmd.array<f32[8192@_]>
  }
}

// -----

// Sums and products of all elements, also of element-wise results, and with a scalar operand.
// CHECK-LABEL: func.func @sums
// CHECK: %[[MEAN:.*]] = array.broadcast_in_dim %{{.*}} dims [] : <f32[]> -> <f32[64@_, 128@a]>
// CHECK: %[[FROM:.*]] = array.subtract %arg0, %[[MEAN]] : <f32[64@_, 128@a]>
// CHECK: array.reduce sum %[[FROM]] dims [0, 1] : <f32[64@_, 128@a]> -> <f32[]>
// CHECK: array.dot_general %{{.*}}, %arg0 contract [0, 1] x [0, 1]
// LOCAL-LABEL: func.func @sums
// LOCAL-NOT: spmd.all_{{gather|to_all}}
// Sums of halves of the rows.
// CHECK-LABEL: func.func @of_halves
// CHECK: %[[APART:.*]] = array.reshape %arg0 : <f32[64@_, 128@a]> -> <f32[2@_, 32@_, 128@a]>
// CHECK: array.reduce max %[[APART]] dims [1, 2] : <f32[2@_, 32@_, 128@a]> -> <f32[2@_]>
// LOCAL-LABEL: func.func @of_halves
// LOCAL: spmd.all_reduce max {{.*}}: <f32[2]>
// LOCAL-LABEL: func.func @back
// A reshape back to the original shape leaves nothing.
// CHECK-LABEL: func.func @back
// CHECK-NEXT: array.abs %arg0 : <f32[64@_, 128@a]>
// CHECK-NEXT: return
// An annotated shape is kept.
// CHECK-LABEL: func.func @marked
// CHECK: array.abs %{{.*}} : <f32[8192@_]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @sums(%x: !spmd.array<f32[64@_, 128@a]>, %m: !spmd.array<f32[1@_]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>) {
    %0 = array.reshape %x : <f32[64@_, 128@a]> -> <f32[8192@_]>
    %1 = array.broadcast_in_dim %m dims [0] : <f32[1@_]> -> <f32[8192@_]>
    %2 = array.subtract %0, %1 : <f32[8192@_]>
    %3 = array.reduce sum %2 dims [0] : <f32[8192@_]> -> <f32[]>
    %4 = array.dot_general %2, %0 contract [0] x [0] batch [] x [] : <f32[8192@_]>, <f32[8192@_]> -> <f32[]>
    return %3, %4 : !spmd.array<f32[]>, !spmd.array<f32[]>
  }
  func.func @of_halves(%x: !spmd.array<f32[64@_, 128@a]>) -> !spmd.array<f32[2@_]> {
    %0 = array.reshape %x : <f32[64@_, 128@a]> -> <f32[2@_, 4096@_]>
    %1 = array.reduce max %0 dims [1] : <f32[2@_, 4096@_]> -> <f32[2@_]>
    return %1 : !spmd.array<f32[2@_]>
  }
  func.func @back(%x: !spmd.array<f32[64@_, 128@a]>) -> !spmd.array<f32[64@_, 128@a]> {
    %0 = array.reshape %x : <f32[64@_, 128@a]> -> <f32[8192@_]>
    %1 = array.abs %0 : <f32[8192@_]>
    %2 = array.reshape %1 : <f32[8192@_]> -> <f32[64@_, 128@a]>
    return %2 : !spmd.array<f32[64@_, 128@a]>
  }
  func.func @marked(%x: !spmd.array<f32[64@_, 128@a]>) -> !spmd.array<f32[64@_, 128@a]> {
    %0 = array.reshape %x {spmd.annotated} : <f32[64@_, 128@a]> -> <f32[8192@_]>
    %1 = array.abs %0 : <f32[8192@_]>
    %2 = array.reshape %1 : <f32[8192@_]> -> <f32[64@_, 128@a]>
    return %2 : !spmd.array<f32[64@_, 128@a]>
  }
}
