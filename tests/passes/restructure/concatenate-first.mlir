// RUN: spmd-opt %s --split-input-file --spmdc-concatenate-first --spmdc-verify-propagated | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-concatenate-first --debug-only=concatenate-first 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[concatenate-first] {{.*}}concatenate: not concatenated first: an integer division may divide by zero at the positions of other parts{{$}}
// TRACE: {{^}}[concatenate-first] {{.*}}concatenate: not concatenated first: the concatenated arrays send 192 bytes in 2 exchanges, the parts 192 in 2{{$}}

// The halves are swapped first, by one move, and then one of them is negated.
// CHECK-LABEL: func.func @halves
// CHECK: %[[BEHIND:.*]] = array.slice %arg0 [32] to [64]
// CHECK: %[[FRONT:.*]] = array.slice %arg0 [0] to [32]
// CHECK: %[[SWAPPED:.*]] = array.concatenate %[[BEHIND]], %[[FRONT]] dim 0 {{.*}} -> <f32[64@a]>
// CHECK: %[[NEGATED:.*]] = array.negate %[[SWAPPED]] : <f32[64@a]>
// CHECK: %[[RESULT:.*]] = array.select %{{.*}}, %[[SWAPPED]], %[[NEGATED]]
// CHECK: return %[[RESULT]]
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @halves(%x: !spmd.array<f32[64@a]>) -> !spmd.array<f32[64@a]> {
    %0 = array.slice %x [32] to [64] step [1] : <f32[64@a]> -> <f32[32@a]>
    %1 = array.negate %0 : <f32[32@a]>
    %2 = array.slice %x [0] to [32] step [1] : <f32[64@a]> -> <f32[32@a]>
    %3 = array.concatenate %1, %2 dim 0 : !spmd.array<f32[32@a]>, !spmd.array<f32[32@a]> -> <f32[64@a]>
    return %3 : !spmd.array<f32[64@a]>
  }
}

// -----

// Parts with the same operations need no selection.
// CHECK-LABEL: func.func @same
// CHECK: %[[SWAPPED:.*]] = array.concatenate
// CHECK: %[[RESULT:.*]] = array.multiply %[[SWAPPED]], %{{.*}} : <f32[64@a]>
// CHECK: return %[[RESULT]]
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @same(%x: !spmd.array<f32[64@a]>) -> !spmd.array<f32[64@a]> {
    %two = array.constant dense<2.0> : tensor<32xf32> -> <f32[32@a]>
    %0 = array.slice %x [32] to [64] step [1] : <f32[64@a]> -> <f32[32@a]>
    %1 = array.multiply %0, %two : <f32[32@a]>
    %2 = array.slice %x [0] to [32] step [1] : <f32[64@a]> -> <f32[32@a]>
    %3 = array.multiply %2, %two : <f32[32@a]>
    %4 = array.concatenate %1, %3 dim 0 : !spmd.array<f32[32@a]>, !spmd.array<f32[32@a]> -> <f32[64@a]>
    return %4 : !spmd.array<f32[64@a]>
  }
}

// -----

// Unchanged: integer divisions, which would divide by elements of another part; parts with other users; and arrays of
// which each element is sent once in any case.
// CHECK-LABEL: func.func @otherwise
// CHECK: array.divide {{.*}} : <i32[32@a]>
// CHECK: array.negate {{.*}} : <f32[32@a]>
// CHECK: array.exp {{.*}} : <f32[32@a]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @otherwise(%x: !spmd.array<f32[64@a]>, %y: !spmd.array<f32[32@a]>, %z: !spmd.array<f32[32@a]>, %n: !spmd.array<i32[64@a]>) -> (!spmd.array<i32[64@a]>, !spmd.array<f32[64@a]>, !spmd.array<f32[64@a]>, !spmd.array<f32[32@a]>) {
    %0 = array.slice %n [32] to [64] step [1] : <i32[64@a]> -> <i32[32@a]>
    %1 = array.slice %n [0] to [32] step [1] : <i32[64@a]> -> <i32[32@a]>
    %2 = array.divide %0, %1 : <i32[32@a]>
    %3 = array.concatenate %2, %1 dim 0 : !spmd.array<i32[32@a]>, !spmd.array<i32[32@a]> -> <i32[64@a]>
    %4 = array.slice %x [32] to [64] step [1] : <f32[64@a]> -> <f32[32@a]>
    %5 = array.negate %4 : <f32[32@a]>
    %6 = array.slice %x [0] to [32] step [1] : <f32[64@a]> -> <f32[32@a]>
    %7 = array.concatenate %5, %6 dim 0 : !spmd.array<f32[32@a]>, !spmd.array<f32[32@a]> -> <f32[64@a]>
    %8 = array.exp %y : <f32[32@a]>
    %9 = array.concatenate %8, %z dim 0 : !spmd.array<f32[32@a]>, !spmd.array<f32[32@a]> -> <f32[64@a]>
    return %3, %7, %9, %5 : !spmd.array<i32[64@a]>, !spmd.array<f32[64@a]>, !spmd.array<f32[64@a]>, !spmd.array<f32[32@a]>
  }
}
