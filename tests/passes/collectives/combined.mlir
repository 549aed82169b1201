// RUN: spmd-opt %s --split-input-file --spmdc-insert-reshards --spmdc-partition --spmdc-verify-partitioned | FileCheck %s

// Cumulative sums and argmax along a sharded dimension: a device sends as much as one element of the dimension.

// The padding of the last shard is -0, which changes no sum; each device adds the totals of the devices before it.
// CHECK-LABEL: func.func @cumulative_sum
// CHECK: array.constant dense<-0.000000e+00>
// CHECK: %[[OWN:.*]] = array.cumulative sum %{{.*}} dim 0 : <f32[5, 4]>
// CHECK: %[[TOTAL:.*]] = array.slice %[[OWN]] [4, 0] to [5, 4]
// CHECK: spmd.all_gather %[[TOTAL]] dim 0 over <a> {{.*}} : <f32[1, 4]> -> <f32[2, 4]>
// CHECK-NOT: spmd.all
// CHECK: return
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @cumulative_sum(%x: !spmd.array<f32[9@a, 4@_]>) -> !spmd.array<f32[9@a, 4@_]> {
    %0 = array.cumulative sum %x dim 0 : <f32[9@a, 4@_]> -> <f32[9@a, 4@_]>
    return %0 : !spmd.array<f32[9@a, 4@_]>
  }
}

// -----

// From the end: each device adds the totals of the devices behind it, and nothing is reversed.
// CHECK-LABEL: func.func @cumulative_sum_from_the_end
// CHECK: array.constant dense<-0.000000e+00>
// CHECK: %[[OWN:.*]] = array.cumulative sum %{{.*}} dim 0 reversed : <f32[5, 4]>
// CHECK: %[[TOTAL:.*]] = array.slice %[[OWN]] [0, 0] to [1, 4]
// CHECK: %[[TOTALS:.*]] = spmd.all_gather %[[TOTAL]] dim 0 over <a> {{.*}} : <f32[1, 4]> -> <f32[2, 4]>
// CHECK: array.cumulative sum %[[TOTALS]] dim 0 reversed : <f32[2, 4]>
// CHECK-NOT: spmd.all
// CHECK-NOT: spmd.exchange
// CHECK: return
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @cumulative_sum_from_the_end(%x: !spmd.array<f32[9@a, 4@_]>) -> !spmd.array<f32[9@a, 4@_]> {
    %0 = array.cumulative sum %x dim 0 reversed : <f32[9@a, 4@_]> -> <f32[9@a, 4@_]>
    return %0 : !spmd.array<f32[9@a, 4@_]>
  }
}

// -----

// The largest element, and the first device that has it.
// CHECK-LABEL: func.func @arg_reduce
// CHECK: spmd.all_reduce max %{{.*}} over <a> {{.*}} : <f32[64]>
// CHECK: spmd.all_reduce min %{{.*}} over <a> {{.*}} : <i32[64]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @arg_reduce(%x: !spmd.array<f32[64@_, 80@a]>) -> !spmd.array<i32[64@_]> {
    %0 = array.arg_reduce %x max = true dim 1 : <f32[64@_, 80@a]> -> <i32[64@_]>
    return %0 : !spmd.array<i32[64@_]>
  }
}
