// RUN: spmd-opt %s --spmdc-insert-reshards --spmdc-partition --split-input-file --spmdc-verify-partitioned | FileCheck %s

// Replicated values become partial sums without a collective: the first device keeps them, the others have zeros.
// CHECK-LABEL: func.func @whole
// CHECK: %[[E:.*]] = array.exp %arg0
// CHECK: %[[PLACE:.*]] = spmd.axis_index <a>
// CHECK: %[[FIRST:.*]] = array.compare eq %[[PLACE]], %{{.*}}
// CHECK: %[[MASK:.*]] = array.broadcast_in_dim %[[FIRST]]
// CHECK: %[[NONE:.*]] = array.constant dense<-0.000000e+00>
// CHECK: %[[SUM:.*]] = array.select %[[MASK]], %[[E]], %[[NONE]]
// CHECK: return %[[SUM]]
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @whole(%x: !spmd.array<f32[8@_]>) -> !spmd.array<f32[8@_] unreduced(a)> {
    %0 = array.exp %x : (<f32[8@_]>) -> <f32[8@_] unreduced(a)>
    return %0 : !spmd.array<f32[8@_] unreduced(a)>
  }
}

// -----

// Shards are placed in zeros. Those of 10 elements over 4 devices have 3 elements, and the last one has two of padding.
// CHECK-LABEL: func.func @pieces
// CHECK: %[[PLACE:.*]] = spmd.axis_index <a>
// CHECK: %[[START:.*]] = array.multiply %[[PLACE]], %{{.*}}
// CHECK: %[[ALL:.*]] = array.dynamic_update_slice %{{.*}}, %arg0 at(%[[START]]){{.*}} -> !spmd.array<f32[12]>
// CHECK: %[[SUM:.*]] = array.slice %[[ALL]] [0] to [10]
// CHECK: return %[[SUM]]
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @pieces(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[10@_] unreduced(a)> {
    %0 = spmd.reshard %x : <f32[10@a]> -> <f32[10@_] unreduced(a)>
    return %0 : !spmd.array<f32[10@_] unreduced(a)>
  }
}

// -----

// A value that is unreduced over an axis of one device is complete, and no exchange names the axis.
// CHECK-LABEL: func.func @of_one_device
// CHECK: spmd.exchange %{{.*}} from !spmd.array<f64[2@a, 2@c]> to !spmd.array<f64[2@
// CHECK-NOT: unreduced
// CHECK: return
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=1, c=2>} {
  func.func @of_one_device(%x: !spmd.array<f64[2@a, 4@b]>, %y: !spmd.array<f64[4@b, 2@c]>) -> !spmd.array<f64[2@"a:(2)2", 2@c]> {
    %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f64[2@a, 4@b]>, <f64[4@b, 2@c]> -> <f64[2@a, 2@c] unreduced(b)>
    %1 = spmd.reshard %0 : <f64[2@a, 2@c] unreduced(b)> -> <f64[2@"a:(2)2", 2@c]>
    return %1 : !spmd.array<f64[2@"a:(2)2", 2@c]>
  }
}
