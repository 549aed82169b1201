// Products run shard by shard while shards move around a ring, if the cost model predicts less time.
// RUN: spmd-opt %s --spmdc-collective-matmuls --split-input-file | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-collective-matmuls --debug-only=collective-matmuls 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[collective-matmuls] {{.*}}all_gather: no collective matmul: the product contracts the gathered dimension, and all devices must add floats in one order{{$}}
// TRACE: {{^}}[collective-matmuls] {{.*}}reduce_scatter: no collective matmul: it computes no sum{{$}}
// TRACE: {{^}}[collective-matmuls] {{.*}}all_gather: no collective matmul: its shards are uneven, or it has one device{{$}}
// TRACE: {{^}}[collective-matmuls] {{.*}}all_gather: no collective matmul: no product in its block multiplies the gathered array (exp){{$}}

// Two devices: each multiplies with its own shard while the other arrives. The position in the group gives their places.
// CHECK-LABEL: func.func @free
// CHECK-SAME: (%[[X:.*]]: !spmd.array<f32[2, 4]>, %[[W:.*]]: !spmd.array<f32[4, 8]>)
// CHECK-NOT: all_gather
// CHECK: spmd.axis_index <a>
// CHECK: %[[R:.*]] = spmd.collective_permute %[[X]] pairs [0, 1, 1, 0] over <a> {spmd.overlapped, why = "for y; one of 1 steps around a ring, under the product"}
// CHECK: %[[OWN:.*]] = array.dot_general %[[X]], %[[W]] contract [1] x [0] batch [] x [] : <f32[2, 4]>, <f32[4, 8]> -> <f32[2, 8]>
// CHECK: %[[HALF:.*]] = array.dynamic_update_slice %{{.*}}, %[[OWN]] at
// CHECK: %[[OTHER:.*]] = array.dot_general %[[R]], %[[W]] contract [1] x [0] batch [] x [] : <f32[2, 4]>, <f32[4, 8]> -> <f32[2, 8]>
// CHECK: %[[Y:.*]] = array.dynamic_update_slice %[[HALF]], %[[OTHER]] at
// CHECK: return %[[Y]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15}"} {
  func.func @free(%x: !spmd.array<f32[2, 4]>, %w: !spmd.array<f32[4, 8]>) -> !spmd.array<f32[4, 8]> {
    %0 = spmd.all_gather %x dim 0 over <a> {why = "for y"} : <f32[2, 4]> -> <f32[4, 4]>
    %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[4, 4]>, <f32[4, 8]> -> <f32[4, 8]>
    return %1 : !spmd.array<f32[4, 8]>
  }
}

// -----

// By default nothing overlaps with a transfer.
// CHECK-LABEL: func.func @by_default
// CHECK: spmd.all_gather
// CHECK-NOT: collective_permute
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @by_default(%x: !spmd.array<f32[2, 4]>, %w: !spmd.array<f32[4, 8]>) -> !spmd.array<f32[4, 8]> {
    %0 = spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[4, 4]>
    %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[4, 4]>, <f32[4, 8]> -> <f32[4, 8]>
    return %1 : !spmd.array<f32[4, 8]>
  }
}

// -----

// Sixteen devices, one direction: the first shard, a loop of seven times two steps, and the last shard.
// CHECK-LABEL: func.func @one_way
// CHECK: spmd.collective_permute %arg0 pairs [0, 15, 1, 0,
// CHECK: array.dot_general
// CHECK: %[[L:.*]]:2 = array.for 0 to 7(
// CHECK-COUNT-2: spmd.collective_permute
// CHECK-NOT: spmd.collective_permute
// CHECK: array.yield
// CHECK: array.dot_general %[[L]]#0
// CHECK: array.dynamic_update_slice %[[L]]#1
// CHECK-NOT: array.dot_general
module attributes {spmd.mesh = #spmd.mesh<m, a=16>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15}"} {
  func.func @one_way(%x: !spmd.array<f32[2, 4]>, %w: !spmd.array<f32[4, 8]>) -> !spmd.array<f32[32, 8]> {
    %0 = spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[32, 4]>
    %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[32, 4]>, <f32[4, 8]> -> <f32[32, 8]>
    return %1 : !spmd.array<f32[32, 8]>
  }
}

// -----

// With a high latency, shards come from both sides: seven full steps (one, a loop of three times two), and one more
// shard from one side.
// CHECK-LABEL: func.func @both_ways
// CHECK: spmd.collective_permute %arg0 pairs [0, 15, 1, 0,
// CHECK-NEXT: spmd.collective_permute %arg0 pairs [0, 1, 1, 2,
// CHECK: %[[L:.*]]:3 = array.for 0 to 3(
// CHECK-COUNT-4: spmd.collective_permute
// CHECK-NOT: spmd.collective_permute
// CHECK: array.yield
// CHECK: %[[F:.*]] = spmd.collective_permute %[[L]]#0 pairs [0, 15, 1, 0,
// CHECK: array.dot_general %[[L]]#0
// CHECK: array.dot_general %[[L]]#1
// CHECK: array.dot_general %[[F]]
// CHECK-NOT: array.dot_general
module attributes {spmd.mesh = #spmd.mesh<m, a=16>, spmd.cost_model = "{\"latency_us\": 0.01, \"overlap\": 1, \"memory_bytes_per_second\": 1e15, \"flops_per_second\": 1e10}"} {
  func.func @both_ways(%x: !spmd.array<f32[2, 4]>, %w: !spmd.array<f32[4, 8]>) -> !spmd.array<f32[32, 8]> {
    %0 = spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[32, 4]>
    %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[32, 4]>, <f32[4, 8]> -> <f32[32, 8]>
    return %1 : !spmd.array<f32[32, 8]>
  }
}

// -----

// A gathered weight that is contracted (FSDP): each shard is multiplied with a part of the other operand, and the
// products are added in f32. The result differs between the devices (x is sharded over a).
// CHECK-LABEL: func.func @contracted
// CHECK: spmd.collective_permute %arg1
// CHECK: %[[S:.*]] = array.dynamic_slice %arg0 at(%{{.*}}) sizes [8, 2]
// CHECK: %[[FIRST:.*]] = array.dot_general %[[S]], %arg1 contract [1] x [0] batch [] x [] : <bf16[8, 2]>, <bf16[2, 6]> -> <f32[8, 6]>
// CHECK: %[[SECOND:.*]] = array.dot_general {{.*}} -> <f32[8, 6]>
// CHECK: %[[SUM:.*]] = array.add %[[FIRST]], %[[SECOND]] : <f32[8, 6]>
// CHECK: array.convert %[[SUM]] : <f32[8, 6]> -> <bf16[8, 6]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15}"} {
  func.func @contracted(%x: !spmd.array<bf16[8, 4]> {spmd.global = !spmd.array<bf16[16@a, 4@_]>}, %w: !spmd.array<bf16[2, 6]> {spmd.global = !spmd.array<bf16[4@a, 6@_]>}) -> !spmd.array<bf16[8, 6]> {
    %0 = spmd.all_gather %w dim 0 over <a> : <bf16[2, 6]> -> <bf16[4, 6]>
    %1 = array.dot_general %x, %0 contract [1] x [0] batch [] x [] : <bf16[8, 4]>, <bf16[4, 6]> -> <bf16[8, 6]>
    return %1 : !spmd.array<bf16[8, 6]>
  }
}

// -----

// All devices hold this result, and would add in different orders. A sum of integers does not depend on the order.
// CHECK-LABEL: func.func @same_everywhere
// CHECK: spmd.all_gather
// CHECK-LABEL: func.func @integers
// CHECK-NOT: spmd.all_gather
// CHECK: spmd.collective_permute %arg1
module attributes {spmd.mesh = #spmd.mesh<m, a=2>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15}"} {
  func.func @same_everywhere(%x: !spmd.array<f32[8, 4]> {spmd.global = !spmd.array<f32[8@_, 4@_]>}, %w: !spmd.array<f32[2, 6]> {spmd.global = !spmd.array<f32[4@a, 6@_]>}) -> !spmd.array<f32[8, 6]> {
    %0 = spmd.all_gather %w dim 0 over <a> : <f32[2, 6]> -> <f32[4, 6]>
    %1 = array.dot_general %x, %0 contract [1] x [0] batch [] x [] : <f32[8, 4]>, <f32[4, 6]> -> <f32[8, 6]>
    return %1 : !spmd.array<f32[8, 6]>
  }
  func.func @integers(%x: !spmd.array<i32[8, 4]> {spmd.global = !spmd.array<i32[8@_, 4@_]>}, %w: !spmd.array<i32[2, 6]> {spmd.global = !spmd.array<i32[4@a, 6@_]>}) -> !spmd.array<i32[8, 6]> {
    %0 = spmd.all_gather %w dim 0 over <a> : <i32[2, 6]> -> <i32[4, 6]>
    %1 = array.dot_general %x, %0 contract [1] x [0] batch [] x [] : <i32[8, 4]>, <i32[4, 6]> -> <i32[8, 6]>
    return %1 : !spmd.array<i32[8, 6]>
  }
}

// -----

// A batch dimension, gathered in front of a transpose: each step takes its part of the other operand's batch.
// CHECK-LABEL: func.func @batch
// CHECK: %[[T:.*]] = array.transpose %arg0 perm [1, 0, 2] : <f32[4, 2, 3]> -> <f32[2, 4, 3]>
// CHECK: %[[S:.*]] = array.dynamic_slice %arg1 at(%{{.*}}) sizes [2, 3, 5]
// CHECK: array.dot_general %[[T]], %[[S]] contract [2] x [1] batch [0] x [0] : <f32[2, 4, 3]>, <f32[2, 3, 5]> -> <f32[2, 4, 5]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15}"} {
  func.func @batch(%x: !spmd.array<f32[4, 2, 3]>, %w: !spmd.array<f32[4, 3, 5]>) -> !spmd.array<f32[4, 4, 5]> {
    %0 = spmd.all_gather %x dim 1 over <a> : <f32[4, 2, 3]> -> <f32[4, 4, 3]>
    %1 = array.transpose %0 perm [1, 0, 2] : <f32[4, 4, 3]> -> <f32[4, 4, 3]>
    %2 = array.dot_general %1, %w contract [2] x [1] batch [0] x [0] : <f32[4, 4, 3]>, <f32[4, 3, 5]> -> <f32[4, 4, 5]>
    return %2 : !spmd.array<f32[4, 4, 5]>
  }
}

// -----

// A partial sum moves around the ring. Each device computes its own meanwhile, and adds it.
// CHECK-LABEL: func.func @scatter
// CHECK-NOT: reduce_scatter
// CHECK: %[[S:.*]] = array.dynamic_slice %arg0 at(%{{.*}}) sizes [2, 4]
// CHECK: %[[FIRST:.*]] = array.dot_general %[[S]], %arg1 {{.*}} -> <f32[2, 8]>
// CHECK: %[[R:.*]] = spmd.collective_permute %[[FIRST]] pairs [0, 1, 1, 0] over <a>
// CHECK: %[[OWN:.*]] = array.dot_general %{{.*}}, %arg1
// CHECK: %[[SUM:.*]] = array.add %[[R]], %[[OWN]] : <f32[2, 8]>
// CHECK: return %[[SUM]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15}"} {
  func.func @scatter(%x: !spmd.array<f32[4, 4]>, %w: !spmd.array<f32[4, 8]>) -> !spmd.array<f32[2, 8]> {
    %0 = array.dot_general %x, %w contract [1] x [0] batch [] x [] : <f32[4, 4]>, <f32[4, 8]> -> <f32[4, 8]>
    %1 = spmd.reduce_scatter sum %0 dim 0 over <a> : <f32[4, 8]> -> <f32[2, 8]>
    return %1 : !spmd.array<f32[2, 8]>
  }
}

// -----

// Partial sums of bf16 are sent directly to the device that adds them in f32; its own one is not rounded. One direction:
// to the device three positions further on, then two, then one. Two directions: the opposite device, then both neighbours.
// CHECK-LABEL: func.func @straight
// CHECK-NOT: reduce_scatter
// CHECK: %[[P3:.*]] = array.dot_general {{.*}} -> <bf16[1, 8]>
// CHECK: %[[A3:.*]] = spmd.collective_permute %[[P3]] pairs [0, 3, 1, 0, 2, 1, 3, 2] over <a> {spmd.overlapped, why = "one of 3 partial sums sent directly to their devices, under the product"} : <bf16[1, 8]>
// CHECK: %[[P2:.*]] = array.dot_general {{.*}} -> <bf16[1, 8]>
// CHECK: %[[S3:.*]] = array.convert %[[A3]] : <bf16[1, 8]> -> <f32[1, 8]>
// CHECK: %[[A2:.*]] = spmd.collective_permute %[[P2]] pairs [0, 2, 1, 3, 2, 0, 3, 1]
// CHECK: %[[P1:.*]] = array.dot_general {{.*}} -> <bf16[1, 8]>
// CHECK: %[[W2:.*]] = array.convert %[[A2]]
// CHECK: %[[S2:.*]] = array.add %[[S3]], %[[W2]] : <f32[1, 8]>
// CHECK: %[[A1:.*]] = spmd.collective_permute %[[P1]] pairs [0, 1, 1, 2, 2, 3, 3, 0]
// CHECK: %[[OWN:.*]] = array.dot_general {{.*}} -> <f32[1, 8]>
// CHECK: %[[W1:.*]] = array.convert %[[A1]]
// CHECK: %[[S1:.*]] = array.add %[[S2]], %[[W1]] : <f32[1, 8]>
// CHECK: %[[SUM:.*]] = array.add %[[S1]], %[[OWN]] : <f32[1, 8]>
// CHECK: %[[Y:.*]] = array.convert %[[SUM]] : <f32[1, 8]> -> <bf16[1, 8]>
// CHECK: return %[[Y]]
module attributes {spmd.mesh = #spmd.mesh<m, a=4>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15}"} {
  func.func @straight(%x: !spmd.array<bf16[4, 4]>, %w: !spmd.array<bf16[4, 8]>) -> !spmd.array<bf16[1, 8]> {
    %0 = array.dot_general %x, %w contract [1] x [0] batch [] x [] : <bf16[4, 4]>, <bf16[4, 8]> -> <bf16[4, 8]>
    %1 = spmd.reduce_scatter sum %0 dim 0 over <a> : <bf16[4, 8]> -> <bf16[1, 8]>
    return %1 : !spmd.array<bf16[1, 8]>
  }
}

// -----

// CHECK-LABEL: func.func @straight_both_ways
// CHECK-NOT: reduce_scatter
// CHECK: spmd.collective_permute {{.*}} pairs [0, 2, 1, 3, 2, 0, 3, 1] {{.*}} : <f16[1, 8]>
// CHECK-COUNT-2: array.dot_general {{.*}} -> <f16[1, 8]>
// CHECK: spmd.collective_permute {{.*}} pairs [0, 1, 1, 2, 2, 3, 3, 0] {{.*}} : <f16[1, 8]>
// CHECK-NEXT: spmd.collective_permute {{.*}} pairs [0, 3, 1, 0, 2, 1, 3, 2] {{.*}} : <f16[1, 8]>
// CHECK: array.dot_general {{.*}} -> <f32[1, 8]>
// CHECK-NOT: array.dot_general
module attributes {spmd.mesh = #spmd.mesh<m, a=4>, spmd.cost_model = "{\"latency_us\": 0.01, \"overlap\": 1, \"memory_bytes_per_second\": 1e15, \"flops_per_second\": 1e10}"} {
  func.func @straight_both_ways(%x: !spmd.array<f16[4, 4]>, %w: !spmd.array<f16[4, 8]>) -> !spmd.array<f16[1, 8]> {
    %0 = array.dot_general %x, %w contract [1] x [0] batch [] x [] : <f16[4, 4]>, <f16[4, 8]> -> <f16[4, 8]>
    %1 = spmd.reduce_scatter sum %0 dim 0 over <a> : <f16[4, 8]> -> <f16[1, 8]>
    return %1 : !spmd.array<f16[1, 8]>
  }
}

// -----

// Not split: a maximum; 16 bits in a group so large that the program would become too long.
// CHECK-LABEL: func.func @not_scattered_so
// CHECK: spmd.reduce_scatter max
// CHECK: spmd.reduce_scatter sum
// CHECK-NOT: collective_permute
module attributes {spmd.mesh = #spmd.mesh<m, a=33>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15}"} {
  func.func @not_scattered_so(%x: !spmd.array<f16[33, 4]>, %w: !spmd.array<f16[4, 8]>, %y: !spmd.array<f32[33, 4]>, %v: !spmd.array<f32[4, 8]>)
      -> (!spmd.array<f16[1, 8]>, !spmd.array<f32[1, 8]>) {
    %2 = array.dot_general %y, %v contract [1] x [0] batch [] x [] : <f32[33, 4]>, <f32[4, 8]> -> <f32[33, 8]>
    %3 = spmd.reduce_scatter max %2 dim 0 over <a> : <f32[33, 8]> -> <f32[1, 8]>
    %0 = array.dot_general %x, %w contract [1] x [0] batch [] x [] : <f16[33, 4]>, <f16[4, 8]> -> <f16[33, 8]>
    %1 = spmd.reduce_scatter sum %0 dim 0 over <a> : <f16[33, 8]> -> <f16[1, 8]>
    return %1, %3 : !spmd.array<f16[1, 8]>, !spmd.array<f32[1, 8]>
  }
}

// -----

// Not split: uneven shards; a gather that another operation reads before the product; a product in a loop of an array that
// is gathered before the loop; a product of an array with itself.
// CHECK-LABEL: func.func @not_gathered_so
// CHECK-COUNT-4: spmd.all_gather
// CHECK-NOT: collective_permute
module attributes {spmd.mesh = #spmd.mesh<m, a=2>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15}"} {
  func.func @not_gathered_so(%x: !spmd.array<f32[2, 4]>, %w: !spmd.array<f32[4, 4]>)
      -> (!spmd.array<f32[3, 4]>, !spmd.array<f32[4, 4]>, !spmd.array<f32[4, 4]>, !spmd.array<f32[4, 4]>, !spmd.array<f32[4, 4]>) {
    %0 = spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[3, 4]>
    %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[3, 4]>, <f32[4, 4]> -> <f32[3, 4]>
    %2 = spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[4, 4]>
    %e = array.exp %2 : <f32[4, 4]>
    %3 = array.dot_general %2, %w contract [1] x [0] batch [] x [] : <f32[4, 4]>, <f32[4, 4]> -> <f32[4, 4]>
    %7 = spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[4, 4]>
    %8 = array.dot_general %7, %7 contract [1] x [1] batch [] x [] : <f32[4, 4]>, <f32[4, 4]> -> <f32[4, 4]>
    %4 = spmd.all_gather %x dim 0 over <a> : <f32[2, 4]> -> <f32[4, 4]>
    %5 = array.for 0 to 3 (%w) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[4, 4]>):
      %6 = array.dot_general %4, %c contract [1] x [0] batch [] x [] : <f32[4, 4]>, <f32[4, 4]> -> <f32[4, 4]>
      array.yield %6 : !spmd.array<f32[4, 4]>
    } : (!spmd.array<f32[4, 4]>) -> !spmd.array<f32[4, 4]>
    return %1, %e, %3, %5, %8 : !spmd.array<f32[3, 4]>, !spmd.array<f32[4, 4]>, !spmd.array<f32[4, 4]>, !spmd.array<f32[4, 4]>, !spmd.array<f32[4, 4]>
  }
}

// -----

// Two products of one array: the steps of the first one assemble the array for the second, before the transpose.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: spmd.all_gather
// CHECK: %[[R:.*]] = spmd.collective_permute %arg0
// CHECK: %[[T:.*]] = array.transpose %arg0
// CHECK: array.dot_general %[[T]], %arg1
// CHECK: %[[HALF:.*]] = array.dynamic_update_slice %{{.*}}, %arg0 at
// CHECK: %[[U:.*]] = array.transpose %[[R]]
// CHECK: array.dot_general %[[U]], %arg1
// CHECK: %[[WHOLE:.*]] = array.dynamic_update_slice %[[HALF]], %[[R]] at
// CHECK: array.dot_general %[[WHOLE]], %arg1 contract [1] x [0] batch [] x [] : <f32[4, 4]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15}"} {
  func.func @kept(%x: !spmd.array<f32[4, 2]>, %w: !spmd.array<f32[4, 8]>) -> (!spmd.array<f32[4, 8]>, !spmd.array<f32[4, 8]>) {
    %0 = spmd.all_gather %x dim 1 over <a> : <f32[4, 2]> -> <f32[4, 4]>
    %1 = array.transpose %0 perm [1, 0] : <f32[4, 4]> -> <f32[4, 4]>
    %2 = array.dot_general %1, %w contract [1] x [0] batch [] x [] : <f32[4, 4]>, <f32[4, 8]> -> <f32[4, 8]>
    %3 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[4, 4]>, <f32[4, 8]> -> <f32[4, 8]>
    return %2, %3 : !spmd.array<f32[4, 8]>, !spmd.array<f32[4, 8]>
  }
}

// -----

// Not split if the gather overlaps with other products anyway: a layer's weights, fetched while the layer before computes.
// CHECK-LABEL: func.func @runs_anyway
// CHECK: spmd.all_gather
// CHECK-NOT: collective_permute
module attributes {spmd.mesh = #spmd.mesh<m, a=2>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15, \"flops_per_second\": 1e9}"} {
  func.func @runs_anyway(%x: !spmd.array<f32[64, 4]>, %w: !spmd.array<f32[4, 4]>, %v: !spmd.array<f32[4, 2]>) -> !spmd.array<f32[64, 4]> {
    %0 = spmd.all_gather %v dim 1 over <a> : <f32[4, 2]> -> <f32[4, 4]>
    %1 = array.dot_general %x, %w contract [1] x [0] batch [] x [] : <f32[64, 4]>, <f32[4, 4]> -> <f32[64, 4]>
    %2 = array.dot_general %1, %0 contract [1] x [0] batch [] x [] : <f32[64, 4]>, <f32[4, 4]> -> <f32[64, 4]>
    return %2 : !spmd.array<f32[64, 4]>
  }
}

// -----

// A product between a gather and a scatter is split for the one that saves most: here that of the larger array.
// CHECK-LABEL: func.func @one_of_two
// CHECK: spmd.collective_permute {{.*}} : <f32[2, 64]> -> <f32[2, 64]>
// CHECK-NOT: spmd.collective_permute
// CHECK: spmd.reduce_scatter
module attributes {spmd.mesh = #spmd.mesh<m, a=2>, spmd.cost_model = "{\"latency_us\": 0, \"overlap\": 1, \"memory_bytes_per_second\": 1e15}"} {
  func.func @one_of_two(%x: !spmd.array<f32[2, 64]>, %w: !spmd.array<f32[64, 8]>) -> !spmd.array<f32[4, 4]> {
    %0 = spmd.all_gather %x dim 0 over <a> : <f32[2, 64]> -> <f32[4, 64]>
    %1 = array.dot_general %0, %w contract [1] x [0] batch [] x [] : <f32[4, 64]>, <f32[64, 8]> -> <f32[4, 8]>
    %2 = spmd.reduce_scatter sum %1 dim 1 over <a> : <f32[4, 8]> -> <f32[4, 4]>
    return %2 : !spmd.array<f32[4, 4]>
  }
}
