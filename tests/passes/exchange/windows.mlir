// RUN: spmd-opt %s --split-input-file --spmdc-insert-reshards --spmdc-partition --canonicalize --cse --spmdc-verify-partitioned | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-insert-reshards --debug-only=windows 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[windows] {{.*}}slice: no window: its window sends 192 bytes, no less than an exchange{{$}}
// TRACE: {{^}}[windows] {{.*}}reverse: no window: its elements are reversed, dilated or none of the array's{{$}}

// Rows of a convolution with strides over a padded array: one row from the next device, and the pad is not built.
// CHECK-LABEL: func.func @strided_taps_of_a_pad
// CHECK: %[[WINDOW:.*]] = spmd.exchange %arg0 over <a> from !spmd.array<f32[64@a, 8@_]> to !spmd.array<f32[68@a, 8@_]> moves [#spmd.move<end = 67, length = 17, step = 2, base = 32>, #spmd.move<>] {{.*}} -> <f32[17, 8]>
// CHECK-NOT: spmd.exchange
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

// Shards of 17, 17, 17 and 14 elements, of which the results read 17, 18, 18 and 12, the second from element 17 on:
// windows that do not overlap are the array sharded at other places.
// CHECK-LABEL: func.func @cut_anew
// CHECK: %[[ANEW:.*]] = spmd.exchange %arg0 over <a> from !spmd.array<f32[65@a]> to !spmd.array<f32[72@a]> moves [#spmd.move<shift = -1, begin = 1, end = 66>] {{.*}} -> <f32[18]>
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

// Device i reads elements 62 i to 62 i + 62 and has 63 i to 63 i + 62.
// CHECK-LABEL: func.func @pieces_that_end_before
// CHECK: spmd.exchange %arg0 over <a> from !spmd.array<f32[250@a, 65536@_]> to !spmd.array<f32[252@a, 65536@_]> moves [#spmd.move<length = 63, step = 2, base = 124>, #spmd.move<>] {{.*}} -> <f32[63, 65536]>
// CHECK-NOT: spmd.exchange
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @pieces_that_end_before(%x: !spmd.array<f32[250@a, 65536@_]>)
      -> (!spmd.array<f32[124@a, 65536@_]>, !spmd.array<f32[124@a, 65536@_]>, !spmd.array<f32[124@a, 65536@_]>) {
    %0 = array.slice %x [0, 0] to [247, 65536] step [2, 1] : <f32[250@a, 65536@_]> -> <f32[124@a, 65536@_]>
    %1 = array.slice %x [1, 0] to [248, 65536] step [2, 1] : <f32[250@a, 65536@_]> -> <f32[124@a, 65536@_]>
    %2 = array.slice %x [2, 0] to [249, 65536] step [2, 1] : <f32[250@a, 65536@_]> -> <f32[124@a, 65536@_]>
    return %0, %1, %2 : !spmd.array<f32[124@a, 65536@_]>, !spmd.array<f32[124@a, 65536@_]>, !spmd.array<f32[124@a, 65536@_]>
  }
}

// -----

// Padding that a device adds locally comes behind the exchange.
// CHECK-LABEL: func.func @a_pad_of_another_dimension
// CHECK: %[[ROWS:.*]] = spmd.exchange {{.*}} moves [#spmd.move<shift = 1, end = 63>, #spmd.move<>] {{.*}} -> <f32[16, 8]>
// CHECK-NOT: spmd.exchange
// CHECK: array.pad %[[ROWS]]
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @a_pad_of_another_dimension(%x: !spmd.array<f32[64@a, 8@_]>, %z: !spmd.array<f32[]>)
      -> !spmd.array<f32[63@a, 10@_]> {
    %0 = array.pad %x with %z low [0, 1] high [0, 1] interior [0, 0] : <f32[64@a, 8@_]>, <f32[]> -> <f32[64@a, 10@_]>
    %1 = array.slice %0 [1, 0] to [64, 10] step [1, 1] : <f32[64@a, 10@_]> -> <f32[63@a, 10@_]>
    return %1 : !spmd.array<f32[63@a, 10@_]>
  }
}

// -----

// VALID: along both dimensions shards of the result end before those of the array. Device (i, j) reads rows 12 i to 12
// i + 13 and columns 5 j to 5 j + 6; corners come with the rest.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK: %[[WINDOW:.*]] = spmd.exchange %arg0 over <a, b> from !spmd.array<f32[26@a, 22@b]> to !spmd.array<f32[28@a, 28@b]> moves [#spmd.move<length = 14, step = 1, base = 24>, #spmd.move<length = 7, step = 1, base = 20>] {{.*}} -> <f32[14, 7]>
// CHECK-NOT: spmd.exchange
// CHECK: array.slice %[[WINDOW]] [0, 0] to [12, 5]
// CHECK: array.slice %[[WINDOW]] [0, 2] to [12, 7]
// CHECK: array.slice %[[WINDOW]] [2, 0] to [14, 5]
// CHECK: array.slice %[[WINDOW]] [2, 2] to [14, 7]
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=4>} {
  func.func @rows_and_columns(%x: !spmd.array<f32[26@a, 22@b]>)
      -> (!spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>) {
    %0 = array.slice %x [0, 0] to [24, 20] step [1, 1] : <f32[26@a, 22@b]> -> <f32[24@a, 20@b]>
    %1 = array.slice %x [0, 2] to [24, 22] step [1, 1] : <f32[26@a, 22@b]> -> <f32[24@a, 20@b]>
    %2 = array.slice %x [2, 0] to [26, 20] step [1, 1] : <f32[26@a, 22@b]> -> <f32[24@a, 20@b]>
    %3 = array.slice %x [2, 2] to [26, 22] step [1, 1] : <f32[26@a, 22@b]> -> <f32[24@a, 20@b]>
    return %0, %1, %2, %3 : !spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>
  }
}

// -----

// No operation reads the corners: rows and columns are separate windows.
// CHECK-LABEL: func.func @without_corners
// CHECK: spmd.exchange {{.*}} -> <f32[14, 5]>
// CHECK: spmd.exchange {{.*}} -> <f32[12, 7]>
// CHECK-NOT: spmd.exchange
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=4>} {
  func.func @without_corners(%x: !spmd.array<f32[24@a, 20@b]>, %z: !spmd.array<f32[]>)
      -> (!spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>) {
    %0 = array.pad %x with %z low [1, 0] high [-1, 0] interior [0, 0] : <f32[24@a, 20@b]>, <f32[]> -> <f32[24@a, 20@b]>
    %1 = array.pad %x with %z low [-1, 0] high [1, 0] interior [0, 0] : <f32[24@a, 20@b]>, <f32[]> -> <f32[24@a, 20@b]>
    %2 = array.pad %x with %z low [0, 1] high [0, -1] interior [0, 0] : <f32[24@a, 20@b]>, <f32[]> -> <f32[24@a, 20@b]>
    %3 = array.pad %x with %z low [0, -1] high [0, 1] interior [0, 0] : <f32[24@a, 20@b]>, <f32[]> -> <f32[24@a, 20@b]>
    return %0, %1, %2, %3 : !spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>, !spmd.array<f32[24@a, 20@b]>
  }
}

// -----

// The array is sharded differently from the results: windows are exchanged directly from its shards.
// CHECK-LABEL: func.func @from_another_sharding
// CHECK: spmd.exchange %arg0 over <b> from !spmd.array<f32[26@b, 4096@_]> to !spmd.array<f32[28@a, 4096@_]> moves [#spmd.move<length = 14, step = 1, base = 24>, #spmd.move<>]
// CHECK-NOT: spmd.exchange
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=4>} {
  func.func @from_another_sharding(%x: !spmd.array<f32[26@b, 4096@_]>)
      -> (!spmd.array<f32[24@a, 4096@_]>, !spmd.array<f32[24@a, 4096@_]>) {
    %0 = array.slice %x [0, 0] to [24, 4096] step [1, 1] : <f32[26@b, 4096@_]> -> <f32[24@a, 4096@_]>
    %1 = array.slice %x [2, 0] to [26, 4096] step [1, 1] : <f32[26@b, 4096@_]> -> <f32[24@a, 4096@_]>
    return %0, %1 : !spmd.array<f32[24@a, 4096@_]>, !spmd.array<f32[24@a, 4096@_]>
  }
}

// -----

// Of the rows that devices exchange only every other column is read: the others are not sent.
// CHECK-LABEL: func.func @columns_that_are_taken
// CHECK: %[[WINDOW:.*]] = spmd.exchange %arg0 over <a> from !spmd.array<f32[27@a, 64@_]> to !spmd.array<f32[16@a, 32@_]> moves [#spmd.move<stride = 2, end = 14>, #spmd.move<stride = 2>]
// CHECK-NEXT: return %[[WINDOW]]
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @columns_that_are_taken(%x: !spmd.array<f32[27@a, 64@_]>) -> !spmd.array<f32[14@a, 32@_]> {
    %0 = array.slice %x [0, 0] to [27, 64] step [2, 1] : <f32[27@a, 64@_]> -> <f32[14@a, 64@_]>
    %1 = array.slice %0 [0, 0] to [14, 63] step [1, 2] : <f32[14@a, 64@_]> -> <f32[14@a, 32@_]>
    return %1 : !spmd.array<f32[14@a, 32@_]>
  }
}

// -----

// Over two axes 27 rows are sharded as 7, 7 7, 6, and results of 25 rows as 7, 6 7, 5: windows begin at 0, 7, 13, 20.
// CHECK-LABEL: func.func @rows_over_two_axes
// CHECK: spmd.exchange %arg0 over <a, b> from !spmd.array<f32[27@"(a, b)", 8@_]> to !spmd.array<f32[36@"(a, b)", 8@_]> moves [#spmd.move<end = 34, length = 9, step = 1, base = 25>, #spmd.move<>] {{.*}} : <f32[7, 8]> -> <f32[9, 8]>
// CHECK-NOT: spmd.exchange
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @rows_over_two_axes(%x: !spmd.array<f32[27@"(a, b)", 8@_]>) -> (!spmd.array<f32[25@"(a, b)", 8@_]>, !spmd.array<f32[25@"(a, b)", 8@_]>) {
    %0 = array.slice %x [0, 0] to [25, 8] step [1, 1] : <f32[27@"(a, b)", 8@_]> -> <f32[25@"(a, b)", 8@_]>
    %1 = array.slice %x [2, 0] to [27, 8] step [1, 1] : <f32[27@"(a, b)", 8@_]> -> <f32[25@"(a, b)", 8@_]>
    return %0, %1 : !spmd.array<f32[25@"(a, b)", 8@_]>, !spmd.array<f32[25@"(a, b)", 8@_]>
  }
}

// -----

// A pool that drops a row: shards of 16 rows are those of 8 rows of the result, and nothing is sent.
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

// A pool with incomplete first and last windows: rows 9 i - 1 to 9 i + 7 of the array, which has shards of 7 rows, are
// sent to device i directly, and the pad supplies the rest.
// CHECK-LABEL: func.func @pad_and_reshape
// CHECK: %[[ROWS:.*]] = spmd.exchange %arg0 over <a> from !spmd.array<f32[25@a, 8@_]> to !spmd.array<f32[36@a, 8@_]> moves [#spmd.move<shift = -1, begin = 1, end = 26>, #spmd.move<>]
// CHECK-NOT: spmd.exchange
// CHECK: %[[PADDED:.*]] = array.select %{{.*}}, %[[ROWS]],
// CHECK: array.reshape %[[PADDED]] : <f32[9, 8]> -> <f32[3, 3, 8]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @pad_and_reshape(%x: !spmd.array<f32[25@a, 8@_]>, %z: !spmd.array<f32[]>) -> !spmd.array<f32[9@a, 3@_, 8@_]> {
    %0 = array.pad %x with %z low [1, 0] high [1, 0] interior [0, 0] : <f32[25@a, 8@_]>, <f32[]> -> <f32[27@a, 8@_]>
    %1 = array.reshape %0 : <f32[27@a, 8@_]> -> <f32[9@a, 3@_, 8@_]>
    return %1 : !spmd.array<f32[9@a, 3@_, 8@_]>
  }
}

// -----

// A value with other users is built nevertheless.
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

// A reversal of a part of a window reverses that part: it does not look through the pad that is not built.
// CHECK-LABEL: func.func @reversed_part_of_a_pad
// CHECK-NOT: from !spmd.array<i32[11@b]>
// CHECK: spmd.exchange %{{.*}} from !spmd.array<i32[5@b]> to !spmd.array<i32[5@b]> moves [#spmd.move<shift = 4, stride = -1>]
module attributes {spmd.mesh = #spmd.mesh<m, b=5>} {
  func.func @reversed_part_of_a_pad(%x: !spmd.array<i32[9@b]>, %z: !spmd.array<i32[]>) -> !spmd.array<i32[5@b]> {
    %0 = array.pad %x with %z low [0] high [2] interior [0] : <i32[9@b]>, <i32[]> -> <i32[11@b]>
    %1 = array.slice %0 [2] to [11] step [2] : <i32[11@b]> -> <i32[5@b]>
    %2 = array.reverse %1 dims [0] : <i32[5@b]> -> <i32[5@b]>
    return %2 : !spmd.array<i32[5@b]>
  }
}

// -----

// A reshape may be regrouped from an array behind skipped operations: the first slice is not built, its operand is.
// CHECK-LABEL: func.func @regrouped_behind_a_window
// CHECK: %[[E:.*]] = spmd.exchange %{{.*}} from !spmd.array<i32[9@a, 48@_, 1@b]> to !spmd.array<i32[1@_, 3@_, 1@_]> moves [#spmd.move<shift = 5>, #spmd.move<shift = 27>, #spmd.move<>]
// CHECK-NEXT: return %[[E]]
module attributes {spmd.mesh = #spmd.mesh<m, a=5, b=3>} {
  func.func @regrouped_behind_a_window(%x: !spmd.array<i32[9@a, 16@_, 3@_, 1@b]>) -> !spmd.array<i32[1@_, 3@_, 1@_]> {
    %0 = array.slice %x [5, 0, 0, 0] to [6, 16, 3, 1] step [1, 1, 1, 1] : <i32[9@a, 16@_, 3@_, 1@b]> -> <i32[1@_, 16@_, 3@_, 1@_]>
    %1 = array.slice %0 [0, 9, 0, 0] to [1, 10, 3, 1] step [1, 1, 1, 1] : <i32[1@_, 16@_, 3@_, 1@_]> -> <i32[1@_, 1@b, 3@a, 1@_]>
    %2 = array.reshape %1 : <i32[1@_, 1@b, 3@a, 1@_]> -> <i32[1@_, 3@_, 1@_]>
    return %2 : !spmd.array<i32[1@_, 3@_, 1@_]>
  }
}
