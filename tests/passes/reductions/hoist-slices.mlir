// RUN: spmd-opt %s --spmdc-hoist-slices | FileCheck %s
// RUN: spmd-opt %s --spmdc-hoist-slices --debug-only=hoist-slices 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[hoist-slices] {{.*}}slice: not hoisted: no partial sum is reduced for it alone{{$}}
// TRACE: {{^}}[hoist-slices] {{.*}}slice: not hoisted: devices cannot take its part of f32[128@a, 256@_] locally{{$}}
// TRACE: {{^}}[hoist-slices] {{.*}}slice: not hoisted: reducing the part takes {{.*}} us, the full array {{.*}} us{{$}}

module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  // The last row of a residual plus partial sums, which were resharded for the sum: only this row of 128 is reduced.
  // CHECK-LABEL: func.func @last
  // CHECK: %[[X:.*]] = array.slice %arg0 [127, 0] to [128, 256] {{.*}} : <f32[128@_, 256@_]> -> <f32[1@_, 256@_]>
  // CHECK: %[[PART:.*]] = array.slice %arg1 [127, 0] to [128, 256] {{.*}} : <f32[128@_, 256@_] unreduced(a)> -> <f32[1@_, 256@_] unreduced(a)>
  // CHECK: %[[SUM:.*]] = spmd.reshard %[[PART]] {why = "summed; only the used elements are reduced"} : <f32[1@_, 256@_] unreduced(a)> -> <f32[1@_, 256@_]>
  // CHECK: %[[LAST:.*]] = array.add %[[X]], %[[SUM]] : <f32[1@_, 256@_]>
  // CHECK: return %[[LAST]]
  func.func @last(%x: !spmd.array<f32[128@_, 256@_]>, %p: !spmd.array<f32[128@_, 256@_] unreduced(a)>) -> !spmd.array<f32[1@_, 256@_]> {
    %0 = spmd.reshard %p {why = "summed; scattered"} : <f32[128@_, 256@_] unreduced(a)> -> <f32[128@a, 256@_]>
    %1 = spmd.reshard %x : <f32[128@_, 256@_]> -> <f32[128@a, 256@_]>
    %2 = array.add %1, %0 : <f32[128@a, 256@_]>
    %3 = array.slice %2 [127, 0] to [128, 256] step [1, 1] : <f32[128@a, 256@_]> -> <f32[1@_, 256@_]>
    return %3 : !spmd.array<f32[1@_, 256@_]>
  }

  // Behind an operation that is not linear, too, with run-time row indices. The rows get their final sharding at once.
  // CHECK-LABEL: func.func @chosen
  // CHECK-DAG: array.take %arg0, %arg2 dim 0 : <f32[128@_, 256@_] unreduced(a)>, <i32[2@_]> -> <f32[2@_, 256@_] unreduced(a)>
  // CHECK-DAG: array.take %arg1, %arg2 dim 0 : <f32[128@_, 256@a]>, <i32[2@_]> -> <f32[2@_, 256@a]>
  // CHECK: %[[SUM:.*]] = array.add {{.*}} : <f32[2@_, 256@_]>
  // CHECK: %[[E:.*]] = array.exp %[[SUM]] : <f32[2@_, 256@_]>
  // CHECK: return %[[E]]
  func.func @chosen(%p: !spmd.array<f32[128@_, 256@_] unreduced(a)>, %y: !spmd.array<f32[128@_, 256@a]>, %i: !spmd.array<i32[2@_]>) -> !spmd.array<f32[2@_, 256@_]> {
    %0 = spmd.reshard %p : <f32[128@_, 256@_] unreduced(a)> -> <f32[128@_, 256@a]>
    %1 = array.add %0, %y : <f32[128@_, 256@a]>
    %2 = array.exp %1 : <f32[128@_, 256@a]>
    %3 = array.take %2, %i dim 0 : <f32[128@_, 256@a]>, <i32[2@_]> -> <f32[2@_, 256@a]>
    %4 = spmd.reshard %3 : <f32[2@_, 256@a]> -> <f32[2@_, 256@_]>
    return %4 : !spmd.array<f32[2@_, 256@_]>
  }

  // Not hoisted: a slice of a value with another use, rows of an array sharded by rows, a slice of nearly all elements.
  // CHECK-LABEL: func.func @used_twice
  // CHECK: spmd.reshard %arg1 : <f32[128@_, 256@_] unreduced(a)> -> <f32[128@_, 256@_]>
  func.func @used_twice(%x: !spmd.array<f32[128@_, 256@_]>, %p: !spmd.array<f32[128@_, 256@_] unreduced(a)>) -> (!spmd.array<f32[1@_, 256@_]>, !spmd.array<f32[128@_, 256@_]>) {
    %0 = spmd.reshard %p : <f32[128@_, 256@_] unreduced(a)> -> <f32[128@_, 256@_]>
    %1 = array.add %x, %0 : <f32[128@_, 256@_]>
    %2 = array.slice %1 [127, 0] to [128, 256] step [1, 1] : <f32[128@_, 256@_]> -> <f32[1@_, 256@_]>
    return %2, %1 : !spmd.array<f32[1@_, 256@_]>, !spmd.array<f32[128@_, 256@_]>
  }
  // CHECK-LABEL: func.func @cut_rows
  // CHECK: spmd.reshard %arg1 : <f32[128@_, 256@_] unreduced(a)> -> <f32[128@a, 256@_]>
  func.func @cut_rows(%x: !spmd.array<f32[128@a, 256@_]>, %p: !spmd.array<f32[128@_, 256@_] unreduced(a)>) -> !spmd.array<f32[1@_, 256@_]> {
    %0 = spmd.reshard %p : <f32[128@_, 256@_] unreduced(a)> -> <f32[128@a, 256@_]>
    %1 = array.add %x, %0 : <f32[128@a, 256@_]>
    %2 = array.slice %1 [127, 0] to [128, 256] step [1, 1] : <f32[128@a, 256@_]> -> <f32[1@_, 256@_]>
    return %2 : !spmd.array<f32[1@_, 256@_]>
  }
  // CHECK-LABEL: func.func @nearly_all
  // CHECK: spmd.reshard %arg0 : <f32[128@_, 256@_] unreduced(a)> -> <f32[128@a, 256@_]>
  func.func @nearly_all(%p: !spmd.array<f32[128@_, 256@_] unreduced(a)>) -> !spmd.array<f32[127@_, 256@_]> {
    %0 = spmd.reshard %p : <f32[128@_, 256@_] unreduced(a)> -> <f32[128@a, 256@_]>
    %1 = array.negate %0 : <f32[128@a, 256@_]>
    %2 = array.slice %1 [0, 0] to [127, 256] step [1, 1] : <f32[128@a, 256@_]> -> <f32[127@_, 256@_]>
    return %2 : !spmd.array<f32[127@_, 256@_]>
  }
}
