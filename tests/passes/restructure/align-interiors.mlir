// RUN: spmd-opt %s --split-input-file --spmdc-align-interiors --spmdc-verify-propagated | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-align-interiors --debug-only=align-interiors 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[align-interiors] {{.*}}dynamic_update_slice: not aligned: no part is computed from slices along a sharded dimension, or one is too small{{$}}
// TRACE: {{^}}[align-interiors] {{.*}}pad: not aligned: it is a term of a sum{{$}}

// The array shifted by one element in both directions, and a mask of the interior.
// CHECK-LABEL: func.func @updated
// CHECK: %[[LOW:.*]] = array.slice %arg0 [0] to [1023] step [1]
// CHECK: %[[BEFORE:.*]] = array.pad %[[LOW]] {{.*}} low [1] high [0] interior [0]
// CHECK: %[[HIGH:.*]] = array.slice %arg0 [1] to [1024] step [1]
// CHECK: %[[BEHIND:.*]] = array.pad %[[HIGH]] {{.*}} low [0] high [1] interior [0]
// CHECK: %[[SUM:.*]] = array.add %[[BEFORE]], %[[BEHIND]] : <f32[1024@a]>
// CHECK: %[[RESULT:.*]] = array.select %{{.*}}, %[[SUM]], %arg0
// CHECK: return %[[RESULT]]
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @updated(%u: !spmd.array<f32[1024@a]>) -> !spmd.array<f32[1024@a]> {
    %one = array.constant dense<1> : tensor<i32> -> <i32[]>
    %0 = array.slice %u [0] to [1022] step [1] : <f32[1024@a]> -> <f32[1022@a]>
    %1 = array.slice %u [2] to [1024] step [1] : <f32[1024@a]> -> <f32[1022@a]>
    %2 = array.add %0, %1 : <f32[1022@a]>
    %3 = array.dynamic_update_slice %u, %2 at(%one) : (!spmd.array<f32[1024@a]>, !spmd.array<f32[1022@a]>, !spmd.array<i32[]>) -> !spmd.array<f32[1024@a]>
    return %3 : !spmd.array<f32[1024@a]>
  }
}

// -----

// Along a replicated dimension nothing is exchanged.
// CHECK-LABEL: func.func @whole
// CHECK: array.dynamic_update_slice
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @whole(%u: !spmd.array<f32[1024@_]>) -> !spmd.array<f32[1024@_]> {
    %one = array.constant dense<1> : tensor<i32> -> <i32[]>
    %0 = array.slice %u [0] to [1022] step [1] : <f32[1024@_]> -> <f32[1022@_]>
    %1 = array.slice %u [2] to [1024] step [1] : <f32[1024@_]> -> <f32[1022@_]>
    %2 = array.add %0, %1 : <f32[1022@_]>
    %3 = array.dynamic_update_slice %u, %2 at(%one) : (!spmd.array<f32[1024@_]>, !spmd.array<f32[1022@_]>, !spmd.array<i32[]>) -> !spmd.array<f32[1024@_]>
    return %3 : !spmd.array<f32[1024@_]>
  }
}

// -----

// Unchanged: an update at a run-time position, and a sum of padded arrays from a derivative.
// CHECK-LABEL: func.func @otherwise
// CHECK: array.dynamic_update_slice
// CHECK: array.pad {{.*}} : <f32[1022@a]>, <f32[]> -> <f32[1024@a]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @otherwise(%u: !spmd.array<f32[1024@a]>, %at: !spmd.array<i32[]>) -> !spmd.array<f32[1024@a]> {
    %zero = array.constant dense<0.0> : tensor<f32> -> <f32[]>
    %0 = array.slice %u [0] to [1022] step [1] : <f32[1024@a]> -> <f32[1022@a]>
    %1 = array.slice %u [2] to [1024] step [1] : <f32[1024@a]> -> <f32[1022@a]>
    %2 = array.add %0, %1 : <f32[1022@a]>
    %3 = array.dynamic_update_slice %u, %2 at(%at) : (!spmd.array<f32[1024@a]>, !spmd.array<f32[1022@a]>, !spmd.array<i32[]>) -> !spmd.array<f32[1024@a]>
    %4 = array.multiply %0, %1 : <f32[1022@a]>
    %5 = array.pad %4 with %zero low [1] high [1] interior [0] : <f32[1022@a]>, <f32[]> -> <f32[1024@a]>
    %6 = array.add %3, %5 : <f32[1024@a]>
    return %6 : !spmd.array<f32[1024@a]>
  }
}
