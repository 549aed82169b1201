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

// Pieces of 17, 17, 17 and 14 elements, of which the results look at 17, 18, 18 and 12, the second from element 17 on:
// cut anew, so that a piece begins where the result looks first.
// CHECK-LABEL: func.func @cut_anew
// CHECK: %[[ANEW:.*]] = spmd.exchange %arg0 over <a> from !spmd.array<f32[65@a]> to !spmd.array<f32[72@a]> shifted [-1] within [1] to [66] {{.*}} -> <f32[18]>
// CHECK-NOT: spmd.exchange
// CHECK: %[[FIRST:.*]] = array.slice %[[ANEW]] [0] to [17] step [2]
// CHECK: array.select %{{.*}}, %[[FIRST]],
// CHECK: array.slice %[[ANEW]] [1] to [18] step [2]
// CHECK-NOT: spmd.exchange
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

// Device i looks at elements 62 i to 62 i + 62 and has 63 i to 63 i + 62: the last one comes from where it lies, since
// the piece behind, which is cut anew, gives it back to device 1 otherwise.
// CHECK-LABEL: func.func @edges_from_the_array
// CHECK: %[[ANEW:.*]] = spmd.exchange %arg0 over <a> from !spmd.array<f32[250@a, 65536@_]> to !spmd.array<f32[248@a, 65536@_]>
// CHECK: %[[EDGE:.*]] = spmd.exchange %arg0 over <a> from !spmd.array<f32[250@a, 65536@_]> to !spmd.array<f32[4@a, 65536@_]> shifted [62, 0] strided [62, 1]
// CHECK: array.concatenate %[[ANEW]], %[[EDGE]] dim 0 : {{.*}} -> <f32[63, 65536]>
// CHECK-NOT: spmd.exchange
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @edges_from_the_array(%x: !spmd.array<f32[250@a, 65536@_]>)
      -> (!spmd.array<f32[124@a, 65536@_]>, !spmd.array<f32[124@a, 65536@_]>, !spmd.array<f32[124@a, 65536@_]>) {
    %0 = array.slice %x [0, 0] to [247, 65536] step [2, 1] : <f32[250@a, 65536@_]> -> <f32[124@a, 65536@_]>
    %1 = array.slice %x [1, 0] to [248, 65536] step [2, 1] : <f32[250@a, 65536@_]> -> <f32[124@a, 65536@_]>
    %2 = array.slice %x [2, 0] to [249, 65536] step [2, 1] : <f32[250@a, 65536@_]> -> <f32[124@a, 65536@_]>
    return %0, %1, %2 : !spmd.array<f32[124@a, 65536@_]>, !spmd.array<f32[124@a, 65536@_]>, !spmd.array<f32[124@a, 65536@_]>
  }
}

// -----

// What a device pads by itself it does behind the exchange.
// CHECK-LABEL: func.func @a_pad_of_another_dimension
// CHECK: spmd.exchange {{.*}} -> <f32[1, 1, 8]>
// CHECK-NOT: spmd.exchange
// CHECK: array.pad
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @a_pad_of_another_dimension(%x: !spmd.array<f32[64@a, 8@_]>, %z: !spmd.array<f32[]>)
      -> !spmd.array<f32[63@a, 10@_]> {
    %0 = array.pad %x with %z low [0, 1] high [0, 1] interior [0, 0] : <f32[64@a, 8@_]>, <f32[]> -> <f32[64@a, 10@_]>
    %1 = array.slice %0 [1, 0] to [64, 10] step [1, 1] : <f32[64@a, 10@_]> -> <f32[63@a, 10@_]>
    return %1 : !spmd.array<f32[63@a, 10@_]>
  }
}

// -----

// A pool that leaves a row over: pieces of 16 rows are those of 8 rows of the result, and nothing moves.
// CHECK-LABEL: func.func @slice_and_reshape
// CHECK-NEXT: array.reshape %arg0 : <f32[16, 8]> -> <f32[8, 2, 8]>
// CHECK-NEXT: return
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @slice_and_reshape(%x: !spmd.array<f32[61@a, 8@_]>) -> !spmd.array<f32[30@a, 2@_, 8@_]> {
    %0 = array.slice %x [0, 0] to [60, 8] step [1, 1] : <f32[61@a, 8@_]> -> <f32[60@a, 8@_]>
    %1 = array.reshape %0 : <f32[60@a, 8@_]> -> <f32[30@a, 2@_, 8@_]>
    return %1 : !spmd.array<f32[30@a, 2@_, 8@_]>
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
