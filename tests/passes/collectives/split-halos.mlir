// RUN: spmd-opt %s --spmdc-split-halos --split-input-file | FileCheck %s
// RUN: spmd-opt %s --spmdc-split-halos --split-input-file --debug-only=split-halos 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[split-halos] {{.*}}exchange: not split: copying 24 bytes takes less time than 2 exchanges{{$}}
// TRACE: {{^}}[split-halos] {{.*}}exchange: not split: an operation reads all of it in memory{{$}}
// TRACE: {{^}}[split-halos] {{.*}}exchange: not split: devices do not keep the same part of their shards along dimension 0{{$}}
// TRACE: {{^}}[split-halos] {{.*}}exchange: not split: devices do not keep the same part of their shards along dimension 0{{$}}

module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
// One row before and two after. The zeros before the first row are those of the first halo.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: !spmd.array<f32[1000, 800]>) -> !spmd.array<f32[1003, 800]> {
  // CHECK: %[[L:.*]] = spmd.exchange %arg0 over <a> from !spmd.array<f32[2000@a, 800@_]> to !spmd.array<f32[2@a, 800@_]> moves [#spmd.move<shift = -1, begin = 1, length = 1, step = 1, base = 2000>, #spmd.move<>]
  // CHECK: %[[H:.*]] = spmd.exchange %arg0 over <a> from !spmd.array<f32[2000@a, 800@_]> to !spmd.array<f32[4@a, 800@_]> moves [#spmd.move<shift = 1000, end = 3, length = 2, step = 1, base = 2000>, #spmd.move<>]
  // CHECK: %[[R:.*]] = array.concatenate %[[L]], %arg0, %[[H]] dim 0
  // CHECK: array.add %[[R]], %[[R]]
  %0 = spmd.exchange %x over <a> from !spmd.array<f32[2000@a, 800@_]> to !spmd.array<f32[2006@a, 800@_]> moves [#spmd.move<shift = -1, begin = 1, end = 2005, length = 1003, step = 1, base = 2000>, #spmd.move<>] : <f32[1000, 800]> -> <f32[1003, 800]>
  %1 = array.add %0, %0 : <f32[1003, 800]>
  return %1 : !spmd.array<f32[1003, 800]>
}

// A shift by one: most of the result is a part of the own shard.
// CHECK-LABEL: func.func @shifted
func.func @shifted(%x: !spmd.array<f32[1000, 800]>) -> !spmd.array<f32[1000, 800]> {
  // CHECK: %[[L:.*]] = spmd.exchange %arg0 over <a> {{.*}} to !spmd.array<f32[2@a, 800@_]> {{.*}} -> <f32[1, 800]>
  // CHECK: %[[OWN:.*]] = array.slice %arg0 [0, 0] to [999, 800]
  // CHECK: array.concatenate %[[L]], %[[OWN]] dim 0
  %0 = spmd.exchange %x over <a> from !spmd.array<f32[2000@a, 800@_]> to !spmd.array<f32[2000@a, 800@_]> moves [#spmd.move<shift = -1>, #spmd.move<>] : <f32[1000, 800]> -> <f32[1000, 800]>
  %1 = array.add %0, %0 : <f32[1000, 800]>
  return %1 : !spmd.array<f32[1000, 800]>
}

// Both dimensions: the columns beside the rows are edges of the concatenation, corners included.
// CHECK-LABEL: func.func @both
func.func @both(%x: !spmd.array<f32[1000, 800]>) -> !spmd.array<f32[1002, 802]> {
  // CHECK: %[[ROWS:.*]] = array.concatenate {{.*}}, %arg0, {{.*}} dim 0 : {{.*}} -> <f32[1002, 800]>
  // CHECK: %[[LAST:.*]] = array.slice %[[ROWS]] [0, 799] to [1002, 800]
  // CHECK: %[[L:.*]] = spmd.exchange %[[LAST]] over <b> from !spmd.array<f32[2004@a, 2@b]> to !spmd.array<f32[2004@a, 2@b]> moves [#spmd.move<>, #spmd.move<shift = -1>]
  // CHECK: %[[FIRST:.*]] = array.slice %[[ROWS]] [0, 0] to [1002, 1]
  // CHECK: %[[H:.*]] = spmd.exchange %[[FIRST]] over <b> from !spmd.array<f32[2004@a, 2@b]> to !spmd.array<f32[2004@a, 2@b]> moves [#spmd.move<>, #spmd.move<shift = 1>]
  // CHECK: array.concatenate %[[L]], %[[ROWS]], %[[H]] dim 1
  %0 = spmd.exchange %x over <a, b> from !spmd.array<f32[2000@a, 1600@b]> to !spmd.array<f32[2004@a, 1604@b]> moves [#spmd.move<shift = -1, length = 1002, step = 1, base = 2000>, #spmd.move<shift = -1, length = 802, step = 1, base = 1600>] : <f32[1000, 800]> -> <f32[1002, 802]>
  %1 = array.add %0, %0 : <f32[1002, 802]>
  return %1 : !spmd.array<f32[1002, 802]>
}

// CHECK-LABEL: func.func @small
func.func @small(%x: !spmd.array<f32[6]>) -> !spmd.array<f32[8]> {
  // CHECK: spmd.exchange {{.*}} -> <f32[8]>
  %0 = spmd.exchange %x over <a> from !spmd.array<f32[12@a]> to !spmd.array<f32[16@a]> moves [#spmd.move<shift = -1, length = 8, step = 1, base = 12>] : <f32[6]> -> <f32[8]>
  %1 = array.add %0, %0 : <f32[8]>
  return %1 : !spmd.array<f32[8]>
}

// A caller reads its array in memory.
// CHECK-LABEL: func.func @stored
func.func @stored(%x: !spmd.array<f32[1000, 800]>) -> !spmd.array<f32[800, 1002]> {
  // CHECK: spmd.exchange {{.*}} -> <f32[1002, 800]>
  %0 = spmd.exchange %x over <a> from !spmd.array<f32[2000@a, 800@_]> to !spmd.array<f32[2004@a, 800@_]> moves [#spmd.move<shift = -1, length = 1002, step = 1, base = 2000>, #spmd.move<>] : <f32[1000, 800]> -> <f32[1002, 800]>
  %1 = array.transpose %0 perm [1, 0] : <f32[1002, 800]> -> <f32[800, 1002]>
  return %1 : !spmd.array<f32[800, 1002]>
}

// The last shard of 1,999 rows has one row less.
// CHECK-LABEL: func.func @uneven
func.func @uneven(%x: !spmd.array<f32[1000, 800]>) -> !spmd.array<f32[1002, 800]> {
  // CHECK: spmd.exchange {{.*}} -> <f32[1002, 800]>
  %0 = spmd.exchange %x over <a> from !spmd.array<f32[1999@a, 800@_]> to !spmd.array<f32[2004@a, 800@_]> moves [#spmd.move<shift = -1, length = 1002, step = 1, base = 1999>, #spmd.move<>] : <f32[1000, 800]> -> <f32[1002, 800]>
  %1 = array.add %0, %0 : <f32[1002, 800]>
  return %1 : !spmd.array<f32[1002, 800]>
}

// Zeros in the own shard of the first device.
// CHECK-LABEL: func.func @masked
func.func @masked(%x: !spmd.array<f32[1000, 800]>) -> !spmd.array<f32[1002, 800]> {
  // CHECK: spmd.exchange {{.*}} -> <f32[1002, 800]>
  %0 = spmd.exchange %x over <a> from !spmd.array<f32[2000@a, 800@_]> to !spmd.array<f32[2004@a, 800@_]> moves [#spmd.move<shift = -1, begin = 3, length = 1002, step = 1, base = 2000>, #spmd.move<>] : <f32[1000, 800]> -> <f32[1002, 800]>
  %1 = array.add %0, %0 : <f32[1002, 800]>
  return %1 : !spmd.array<f32[1002, 800]>
}
}
