// RUN: spmd-opt %s --spmdc-choose-shardings --split-input-file | FileCheck %s
// RUN: spmd-opt %s --spmdc-choose-shardings=effort=0 --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: spmd-opt %s --spmdc-choose-shardings=remarks --split-input-file 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: spmd-opt %s --split-input-file --spmdc-choose-shardings --debug-only=choose-shardings 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[choose-shardings] {{.*}}dot_general: tried f32[1024@data, 64@_] instead of f32[1024@_, 64@_], of 2 arrays: saves {{.*}} us and 1835008 bytes{{$}}
// TRACE: {{^}}[choose-shardings] {{.*}}searched: as it is, {{.*}} us, 1835008 bytes{{$}}

// A replicated gradient, of which each device uses a part: it gets the sharding of the part, so that the partial sums are
// reduced and scattered at once, half of the bytes (ZeRO). So do the values in between.
// CHECK-LABEL: func.func @gradient
// NONE-LABEL: func.func @gradient
module attributes {spmd.mesh = #spmd.mesh<m, data=8>} {
  func.func @gradient(%x: !spmd.array<f32[512@data, 1024@_]>, %d: !spmd.array<f32[512@data, 64@_]>, %m: !spmd.array<f32[1024@data, 64@_]>) -> !spmd.array<f32[1024@data, 64@_]> {
    // CHECK: array.dot_general {{.*}} -> <f32[1024@data, 64@_]>
    // CHECK: array.negate {{.*}} : <f32[1024@data, 64@_]>
    // NONE: array.dot_general {{.*}} -> <f32[1024@_, 64@_]>
    // REMARK: remark: becomes f32[1024@data, 64@_] instead of f32[1024@_, 64@_], so that less is sent
    // REMARK-NEXT: array.dot_general
    %g = array.dot_general %x, %d contract [0] x [0] batch [] x [] : <f32[512@data, 1024@_]>, <f32[512@data, 64@_]> -> <f32[1024@_, 64@_]>
    %n = array.negate %g : <f32[1024@_, 64@_]>
    %r = array.add %m, %n : (<f32[1024@data, 64@_]>, <f32[1024@_, 64@_]>) -> <f32[1024@data, 64@_]>
    return %r : !spmd.array<f32[1024@data, 64@_]>
  }
}

// -----

// An annotated sharding stays, and the attribute `spmd.annotated` is removed.
// CHECK-LABEL: func.func @annotated
module attributes {spmd.mesh = #spmd.mesh<m, data=8>} {
  func.func @annotated(%x: !spmd.array<f32[512@data, 1024@_]>, %d: !spmd.array<f32[512@data, 64@_]>, %m: !spmd.array<f32[1024@data, 64@_]>) -> !spmd.array<f32[1024@data, 64@_]> {
    // CHECK: array.dot_general {{.*}} batch [] x [] : {{.*}} -> <f32[1024@_, 64@_]>
    // CHECK-NOT: spmd.annotated
    // CHECK: return
    %g = array.dot_general %x, %d contract [0] x [0] batch [] x [] {spmd.annotated} : <f32[512@data, 1024@_]>, <f32[512@data, 64@_]> -> <f32[1024@_, 64@_]>
    %r = array.add %m, %g : (<f32[1024@data, 64@_]>, <f32[1024@_, 64@_]>) -> <f32[1024@data, 64@_]>
    return %r : !spmd.array<f32[1024@data, 64@_]>
  }
}

// -----

// Parameters and results keep their shardings: one all_reduce sends as much as a reduce_scatter and an all_gather.
// CHECK-LABEL: func.func @result
module attributes {spmd.mesh = #spmd.mesh<m, b=2>} {
  func.func @result(%x: !spmd.array<f32[64@_, 32@b]>, %y: !spmd.array<f32[32@b, 64@_]>) -> !spmd.array<f32[64@_, 64@_]> {
    // CHECK: array.dot_general {{.*}} -> <f32[64@_, 64@_]>
    // CHECK: array.tanh {{.*}} : <f32[64@_, 64@_]>
    %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[64@_, 32@b]>, <f32[32@b, 64@_]> -> <f32[64@_, 64@_]>
    %1 = array.tanh %0 : <f32[64@_, 64@_]>
    return %1 : !spmd.array<f32[64@_, 64@_]>
  }
}

// -----

// A value that is only returned, with another sharding than the result: the pass inserts the reshard.
// CHECK-LABEL: func.func @returned
module attributes {spmd.mesh = #spmd.mesh<m, a=8>} {
  func.func @returned(%x: !spmd.array<f32[1024@_, 4096@a]>, %y: !spmd.array<f32[4096@_, 8@_]>, %z: !spmd.array<f32[8@_, 4096@_]>) -> !spmd.array<f32[1024@a, 4096@_]> {
    // CHECK: %[[R:.*]] = array.{{.*}} -> <f32[1024@a, 4096@_]>
    // CHECK: return %[[R]]
    %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[1024@_, 4096@a]>, <f32[4096@_, 8@_]> -> <f32[1024@_, 8@_]>
    %1 = array.dot_general %0, %z contract [1] x [0] batch [] x [] : <f32[1024@_, 8@_]>, <f32[8@_, 4096@_]> -> <f32[1024@a, 4096@_]>
    return %1 : !spmd.array<f32[1024@a, 4096@_]>
  }
}

// -----

// A carry has one sharding in all iterations: it changes together with the initial and the yielded values.
// CHECK-LABEL: func.func @carry
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @carry(%x: !spmd.array<f32[256@_, 256@a]>, %w: !spmd.array<f32[256@a, 256@_]>, %s: !spmd.array<f32[256@a, 256@_]>) -> !spmd.array<f32[256@a, 256@_]> {
    // CHECK: ^bb0({{.*}}f32[256@a, 256@_]>):
    // CHECK: array.dot_general {{.*}} -> <f32[256@a, 256@_]>
    // CHECK: } : {{.*}} -> !spmd.array<f32[256@a, 256@_]>
    // CHECK: return
    %zero = array.constant dense<0.0> : tensor<256x256xf32> -> <f32[256@_, 256@_]>
    %0 = array.for 0 to 10 (%zero) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[256@_, 256@_]>):
      %p = array.dot_general %x, %w contract [1] x [0] batch [] x [] : <f32[256@_, 256@a]>, <f32[256@a, 256@_]> -> <f32[256@_, 256@_]>
      %t = array.tanh %p : <f32[256@_, 256@_]>
      %n = array.add %c, %t : <f32[256@_, 256@_]>
      array.yield %n : !spmd.array<f32[256@_, 256@_]>
    } : (!spmd.array<f32[256@_, 256@_]>) -> !spmd.array<f32[256@_, 256@_]>
    %r = array.add %0, %s : (<f32[256@_, 256@_]>, <f32[256@a, 256@_]>) -> <f32[256@a, 256@_]>
    return %r : !spmd.array<f32[256@a, 256@_]>
  }
}
