// RUN: spmd-opt %s --split-input-file --spmdc-insert-reshards --spmdc-partition --canonicalize --cse --spmdc-verify-partitioned | FileCheck %s

// An update at a compile-time position is sent there, and the array is not sent.
// CHECK-LABEL: func.func @update_at_a_known_place
// CHECK: %[[PART:.*]] = spmd.exchange %arg1 over <a> from !spmd.array<f32[10@a, 65536@_]> to !spmd.array<f32[31@a, 65536@_]> moves [#spmd.move<shift = -3, begin = 3, end = 13>, #spmd.move<>]
// CHECK-NOT: spmd.{{all|exchange|reduce}}
// CHECK: array.select %{{.*}}, %[[PART]], %arg0
module attributes {spmd.mesh = #spmd.mesh<m, a=8>} {
  func.func @update_at_a_known_place(%x: !spmd.array<f32[31@a, 65536@_]>, %v: !spmd.array<f32[10@a, 65536@_]>)
      -> !spmd.array<f32[31@a, 65536@_]> {
    %c3 = array.constant dense<3> : tensor<i32> -> <i32[]>
    %c0 = array.constant dense<0> : tensor<i32> -> <i32[]>
    %0 = array.dynamic_update_slice %x, %v at(%c3, %c0) : (!spmd.array<f32[31@a, 65536@_]>, !spmd.array<f32[10@a, 65536@_]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[31@a, 65536@_]>
    return %0 : !spmd.array<f32[31@a, 65536@_]>
  }
}

// -----

// If every device has the full update, each writes the part that is in its shard, in place.
// CHECK-LABEL: func.func @update_that_is_whole
// CHECK-NOT: spmd.{{all|exchange|reduce}}
// CHECK: array.dynamic_update_slice
module attributes {spmd.mesh = #spmd.mesh<m, a=8>} {
  func.func @update_that_is_whole(%x: !spmd.array<f32[31@a, 65536@_]>, %v: !spmd.array<f32[10@_, 65536@_]>)
      -> !spmd.array<f32[31@a, 65536@_]> {
    %c3 = array.constant dense<3> : tensor<i32> -> <i32[]>
    %c0 = array.constant dense<0> : tensor<i32> -> <i32[]>
    %0 = array.dynamic_update_slice %x, %v at(%c3, %c0) : (!spmd.array<f32[31@a, 65536@_]>, !spmd.array<f32[10@_, 65536@_]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[31@a, 65536@_]>
    return %0 : !spmd.array<f32[31@a, 65536@_]>
  }
}

// -----

// Half of a concatenation is one of its parts: the other part is not sent, and nothing is sent twice.
// CHECK-LABEL: func.func @part_of_a_concatenation
// CHECK: spmd.exchange %arg0 over <a> from !spmd.array<f32[32@a, 65536@_]> to !spmd.array<f32[24@a, 65536@_]> moves [#spmd.move<shift = 4>, #spmd.move<>]
// CHECK-NOT: spmd.{{all|exchange|reduce}}
module attributes {spmd.mesh = #spmd.mesh<m, a=8>} {
  func.func @part_of_a_concatenation(%x: !spmd.array<f32[32@a, 65536@_]>, %y: !spmd.array<f32[24@a, 65536@_]>)
      -> !spmd.array<f32[24@a, 65536@_]> {
    %0 = array.concatenate %x, %y dim 0 : !spmd.array<f32[32@a, 65536@_]>, !spmd.array<f32[24@a, 65536@_]> -> <f32[56@a, 65536@_]>
    %1 = array.slice %0 [4, 0] to [28, 65536] step [1, 1] : <f32[56@a, 65536@_]> -> <f32[24@a, 65536@_]>
    return %1 : !spmd.array<f32[24@a, 65536@_]>
  }
}
