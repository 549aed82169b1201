// RUN: spmd-opt %s --split-input-file --spmdc-insert-reshards --spmdc-partition --canonicalize --cse --spmdc-verify-partitioned | FileCheck %s

// Rows of a convolution with strides over a padded array: one row from the device behind, and the pad is not built.
// CHECK-LABEL: func.func @strided_taps_of_a_pad
// CHECK: %[[SPLIT:.*]] = array.reshape %arg0 : <f32[16, 8]> -> <f32[1, 16, 8]>
// CHECK: %[[EDGE:.*]] = spmd.exchange %[[SPLIT]] over <a> {{.*}} shifted [1, 0, 0] within [0, 0, 0] to [3, 1, 8] {{.*}} -> <f32[1, 1, 8]>
// CHECK-NOT: spmd.exchange
// CHECK: %[[WINDOW:.*]] = array.concatenate %arg0, %{{.*}} dim 0 : {{.*}} -> <f32[17, 8]>
// CHECK: array.slice %[[WINDOW]] [0, 0] to [15, 8] step [2, 1]
// CHECK: array.slice %[[WINDOW]] [1, 0] to [16, 8] step [2, 1]
// CHECK: array.slice %[[WINDOW]] [2, 0] to [17, 8] step [2, 1]
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @strided_taps_of_a_pad(%x: !spmd.array<f32[64@a, 8@_]>, %z: !spmd.array<f32[]>)
      -> (!spmd.array<f32[32@a, 8@_]>, !spmd.array<f32[32@a, 8@_]>, !spmd.array<f32[32@a, 8@_]>) {
    %0 = array.pad %x with %z low [0, 0] high [1, 0] interior [0, 0] : <f32[64@a, 8@_]>, <f32[]> -> <f32[65@a, 8@_]>
    %1 = array.slice %0 [0, 0] to [63, 8] step [2, 1] : <f32[65@a, 8@_]> -> <f32[32@a, 8@_]>
    %2 = array.slice %0 [1, 0] to [64, 8] step [2, 1] : <f32[65@a, 8@_]> -> <f32[32@a, 8@_]>
    %3 = array.slice %0 [2, 0] to [65, 8] step [2, 1] : <f32[65@a, 8@_]> -> <f32[32@a, 8@_]>
    return %1, %2, %3 : !spmd.array<f32[32@a, 8@_]>, !spmd.array<f32[32@a, 8@_]>, !spmd.array<f32[32@a, 8@_]>
  }
}

// -----

// Pieces of 17, 17, 17 and 12 rows, of which the results take 18, 18, 18 and 9: cut anew, then one row from the device before.
// CHECK-LABEL: func.func @cut_anew
// CHECK: %[[ANEW:.*]] = spmd.exchange %arg0 over <a> from !spmd.array<f32[65@a]> to !spmd.array<f32[72@a]> {{.*}} -> <f32[18]>
// CHECK: spmd.exchange %{{.*}} shifted [-1, 17] within [1, 0] to [4, 1]
// CHECK-NOT: spmd.exchange
// CHECK: array.select
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @cut_anew(%x: !spmd.array<f32[65@a]>, %z: !spmd.array<f32[]>)
      -> (!spmd.array<f32[33@a]>, !spmd.array<f32[33@a]>) {
    %0 = array.pad %x with %z low [1] high [0] interior [0] : <f32[65@a]>, <f32[]> -> <f32[66@a]>
    %1 = array.slice %0 [0] to [65] step [2] : <f32[66@a]> -> <f32[33@a]>
    %2 = array.slice %0 [1] to [66] step [2] : <f32[66@a]> -> <f32[33@a]>
    return %1, %2 : !spmd.array<f32[33@a]>, !spmd.array<f32[33@a]>
  }
}

// -----

// What somebody else looks at is built all the same.
// CHECK-LABEL: func.func @the_pad_is_wanted_too
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}} : !spmd.array<f32[17]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @the_pad_is_wanted_too(%x: !spmd.array<f32[64@a]>, %z: !spmd.array<f32[]>)
      -> (!spmd.array<f32[65@a]>, !spmd.array<f32[32@a]>, !spmd.array<f32[32@a]>) {
    %0 = array.pad %x with %z low [0] high [1] interior [0] : <f32[64@a]>, <f32[]> -> <f32[65@a]>
    %1 = array.slice %0 [1] to [64] step [2] : <f32[65@a]> -> <f32[32@a]>
    %2 = array.slice %0 [2] to [65] step [2] : <f32[65@a]> -> <f32[32@a]>
    return %0, %1, %2 : !spmd.array<f32[65@a]>, !spmd.array<f32[32@a]>, !spmd.array<f32[32@a]>
  }
}

// -----

// A reversal of a part of a window takes that part: it does not look past it, at the pad that is not built.
// CHECK-LABEL: func.func @reversed_part_of_a_pad
// CHECK-NOT: from !spmd.array<i32[11@b]>
// CHECK: spmd.exchange %{{.*}} from !spmd.array<i32[5@b]> to !spmd.array<i32[5@b]> shifted [4] strided [-1]
module attributes {spmd.mesh = #spmd.mesh<m, b=5>} {
  func.func @reversed_part_of_a_pad(%x: !spmd.array<i32[9@b]>, %z: !spmd.array<i32[]>) -> !spmd.array<i32[5@b]> {
    %0 = array.pad %x with %z low [0] high [2] interior [0] : <i32[9@b]>, <i32[]> -> <i32[11@b]>
    %1 = array.slice %0 [2] to [11] step [2] : <i32[11@b]> -> <i32[5@b]>
    %2 = array.reverse %1 dims [0] : <i32[5@b]> -> <i32[5@b]>
    return %2 : !spmd.array<i32[5@b]>
  }
}
