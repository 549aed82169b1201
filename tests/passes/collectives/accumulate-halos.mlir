// RUN: spmd-opt %s --spmdc-accumulate-halos --canonicalize --split-input-file | FileCheck %s
// RUN: spmd-opt %s --spmdc-accumulate-halos --debug-only=accumulate-halos 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[accumulate-halos] {{.*}}add: not accumulated: adding first sends 8 bytes in 2 exchanges, exchanging each term 8 in 2{{$}}
// TRACE: {{^}}[accumulate-halos] {{.*}}exchange: not accumulated: only one of its terms is exchanged{{$}}

module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
// Two arrays, shifted by one and by two: device 0 adds up its contributions to device 1, and sends two elements, not three.
// CHECK-LABEL: func.func @shifted
func.func @shifted(%x: !spmd.array<f32[4]>, %y: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
  // CHECK-DAG: %[[X:.*]] = array.pad %arg0 with %{{.*}} low [1] high [-1]
  // CHECK-DAG: %[[Y:.*]] = array.pad %arg1 with %{{.*}} low [2] high [-2]
  // CHECK-DAG: %[[OWN:.*]] = array.add %[[X]], %[[Y]] : <f32[4]>
  // CHECK-DAG: %[[XE:.*]] = array.pad %arg0 with %{{.*}} low [-3] high [1] {{.*}} -> <f32[2]>
  // CHECK-DAG: %[[YE:.*]] = array.slice %arg1 [2] to [4]
  // CHECK-DAG: %[[E:.*]] = array.add %[[XE]], %[[YE]] : <f32[2]>
  // CHECK: %[[R:.*]] = spmd.exchange %[[E]] over <a> from !spmd.array<f32[4@a]> to !spmd.array<f32[4@a]> moves [#spmd.move<shift = -2, begin = 2>]
  // CHECK-SAME: {why = "each device adds up its contributions to the other shards of f32[8@a] before it sends them"}
  // CHECK: %[[IN:.*]] = array.pad %[[R]] with %{{.*}} low [0] high [2]
  // CHECK: %[[S:.*]] = array.add %[[OWN]], %[[IN]]
  // CHECK: return %[[S]]
  %0 = spmd.exchange %x over <a> from !spmd.array<f32[8@a]> to !spmd.array<f32[8@a]> moves [#spmd.move<shift = -1>] : <f32[4]> -> <f32[4]>
  %1 = spmd.exchange %y over <a> from !spmd.array<f32[8@a]> to !spmd.array<f32[8@a]> moves [#spmd.move<shift = -2>] : <f32[4]> -> <f32[4]>
  %2 = array.add %0, %1 : <f32[4]>
  return %2 : !spmd.array<f32[4]>
}

// An exchange with another use stays, and one exchange is not a sum.
// CHECK-LABEL: func.func @used
func.func @used(%x: !spmd.array<f32[4]>, %y: !spmd.array<f32[4]>) -> (!spmd.array<f32[4]>, !spmd.array<f32[4]>) {
  // CHECK: spmd.exchange %arg0 {{.*}} moves [#spmd.move<shift = -1>]
  // CHECK: spmd.exchange %arg1 {{.*}} moves [#spmd.move<shift = -2>]
  %0 = spmd.exchange %x over <a> from !spmd.array<f32[8@a]> to !spmd.array<f32[8@a]> moves [#spmd.move<shift = -1>] : <f32[4]> -> <f32[4]>
  %1 = spmd.exchange %y over <a> from !spmd.array<f32[8@a]> to !spmd.array<f32[8@a]> moves [#spmd.move<shift = -2>] : <f32[4]> -> <f32[4]>
  %2 = array.add %0, %1 : <f32[4]>
  return %2, %0 : !spmd.array<f32[4]>, !spmd.array<f32[4]>
}

// Different neighbours: no device has two contributions to add up for another.
// CHECK-LABEL: func.func @apart
func.func @apart(%x: !spmd.array<f32[4]>, %y: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
  // CHECK: spmd.exchange %arg0 {{.*}} moves [#spmd.move<shift = -1>]
  // CHECK: spmd.exchange %arg1 {{.*}} moves [#spmd.move<shift = 1>]
  %0 = spmd.exchange %x over <a> from !spmd.array<f32[8@a]> to !spmd.array<f32[8@a]> moves [#spmd.move<shift = -1>] : <f32[4]> -> <f32[4]>
  %1 = spmd.exchange %y over <a> from !spmd.array<f32[8@a]> to !spmd.array<f32[8@a]> moves [#spmd.move<shift = 1>] : <f32[4]> -> <f32[4]>
  %2 = array.add %0, %1 : <f32[4]>
  return %2 : !spmd.array<f32[4]>
}

// An exchange of a sum of exchanges, with another term added in between: all terms move in one exchange.
// CHECK-LABEL: func.func @nested
func.func @nested(%x: !spmd.array<f32[4, 3]>, %y: !spmd.array<f32[4, 3]>, %z: !spmd.array<f32[4, 5]>) -> !spmd.array<f32[4, 5]> {
  // CHECK-COUNT-1: spmd.exchange
  // CHECK-NOT: spmd.exchange
  // CHECK: return
  %zero = array.constant dense<0.0> : tensor<f32> -> <f32[]>
  %0 = spmd.exchange %x over <a> from !spmd.array<f32[8@a, 3@_]> to !spmd.array<f32[8@a, 3@_]> moves [#spmd.move<shift = -1>, #spmd.move<>] : <f32[4, 3]> -> <f32[4, 3]>
  %1 = array.add %0, %y : <f32[4, 3]>
  %2 = array.pad %1 with %zero low [0, 2] high [0, 0] interior [0, 0] : <f32[4, 3]>, <f32[]> -> <f32[4, 5]>
  %3 = spmd.exchange %z over <a> from !spmd.array<f32[8@a, 5@_]> to !spmd.array<f32[8@a, 5@_]> moves [#spmd.move<shift = -1>, #spmd.move<shift = 1>] : <f32[4, 5]> -> <f32[4, 5]>
  %4 = array.add %2, %3 : <f32[4, 5]>
  return %4 : !spmd.array<f32[4, 5]>
}
}
