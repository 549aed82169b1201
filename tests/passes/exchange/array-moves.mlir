// RUN: spmd-opt %s --split-input-file --spmdc-insert-reshards --spmdc-partition --spmdc-verify-partitioned | FileCheck %s

// Operations that move elements along sharded dimensions: neighbours exchange the elements that they lack; no array is
// gathered.

// CHECK-LABEL: func.func @slice
// CHECK: spmd.exchange %{{.*}} over <a> from !spmd.array<f32[10@a]> to !spmd.array<f32[9@a]> moves [#spmd.move<shift = 1>] {
// CHECK-SAME: why = "slice takes f32[10@a] to f32[9@a]: devices send one another the elements that their shards do not share"
// CHECK-SAME: <f32[5]> -> <f32[5]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @slice(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[9@a]> {
    %0 = array.slice %x [1] to [10] step [1] : <f32[10@a]> -> <f32[9@a]>
    return %0 : !spmd.array<f32[9@a]>
  }
}

// -----

// An exchange leaves zeros outside, which need no mask; another number does.
// CHECK-LABEL: func.func @pad
// CHECK: %[[MOVED:.*]] = spmd.exchange %{{.*}} moves [#spmd.move<shift = -2>]
// CHECK: spmd.shard_start 12 over <a>
// CHECK: array.select %{{.*}}, %[[MOVED]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @pad(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[12@a]> {
    %one = array.constant dense<1.0> : tensor<f32> -> <f32[]>
    %0 = array.pad %x with %one low [2] high [0] interior [0] : <f32[10@a]>, <f32[]> -> <f32[12@a]>
    return %0 : !spmd.array<f32[12@a]>
  }
}

// -----

// -0 is not the zero that an exchange leaves outside.
// CHECK-LABEL: func.func @pad_with_minus_zero
// CHECK: %[[MOVED:.*]] = spmd.exchange %{{.*}} moves [#spmd.move<shift = -2>]
// CHECK: array.select %{{.*}}, %[[MOVED]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @pad_with_minus_zero(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[12@a]> {
    %zero = array.constant dense<-0.0> : tensor<f32> -> <f32[]>
    %0 = array.pad %x with %zero low [2] high [0] interior [0] : <f32[10@a]>, <f32[]> -> <f32[12@a]>
    return %0 : !spmd.array<f32[12@a]>
  }
}

// -----

// +0 needs no mask.
// CHECK-LABEL: func.func @pad_with_zero
// CHECK: spmd.exchange %{{.*}} moves [#spmd.move<shift = -2>]
// CHECK-NOT: array.select
// CHECK: return
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @pad_with_zero(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[12@a]> {
    %zero = array.constant dense<0.0> : tensor<f32> -> <f32[]>
    %0 = array.pad %x with %zero low [2] high [0] interior [0] : <f32[10@a]>, <f32[]> -> <f32[12@a]>
    return %0 : !spmd.array<f32[12@a]>
  }
}

// -----

// Elements that each device already holds are a local slice.
// CHECK-LABEL: func.func @every_device_has_it
// CHECK-NOT: spmd.exchange
// CHECK: array.slice %{{.*}} [0] to [5] step [1] : <f32[5]> -> <f32[5]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @every_device_has_it(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[9@a]> {
    %0 = array.slice %x [0] to [9] step [1] : <f32[10@a]> -> <f32[9@a]>
    return %0 : !spmd.array<f32[9@a]>
  }
}

// -----

// Each part is sent directly to its shards of the result; the mask selects the part by position.
// CHECK-LABEL: func.func @concatenate
// CHECK: %[[X:.*]] = spmd.exchange %arg0 over <a> from !spmd.array<f32[10@a]> to !spmd.array<f32[16@a]> moves [#spmd.move<end = 10>]
// CHECK: %[[Y:.*]] = spmd.exchange %arg1 over <a> from !spmd.array<f32[6@a]> to !spmd.array<f32[16@a]> moves [#spmd.move<shift = -10, begin = 10>]
// CHECK: array.select %{{.*}}, %[[Y]], %[[X]]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @concatenate(%x: !spmd.array<f32[10@a]>, %y: !spmd.array<f32[6@a]>) -> !spmd.array<f32[16@a]> {
    %0 = array.concatenate %x, %y dim 0 : !spmd.array<f32[10@a]>, !spmd.array<f32[6@a]> -> <f32[16@a]>
    return %0 : !spmd.array<f32[16@a]>
  }
}

// -----

// Two slices concatenated in another order are a rotation: both parts come from the array itself, by one exchange.
// CHECK-LABEL: func.func @roll
// CHECK: spmd.exchange %arg0 {{.*}} moves [#spmd.move<shift = -1, wraps = true>]
// CHECK-NOT: spmd.exchange
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @roll(%x: !spmd.array<f32[800000@a]>) -> !spmd.array<f32[800000@a]> {
    %last = array.slice %x [799999] to [800000] step [1] : <f32[800000@a]> -> <f32[1@_]>
    %rest = array.slice %x [0] to [799999] step [1] : <f32[800000@a]> -> <f32[799999@a]>
    %0 = array.concatenate %last, %rest dim 0 : !spmd.array<f32[1@_]>, !spmd.array<f32[799999@a]> -> <f32[800000@a]>
    return %0 : !spmd.array<f32[800000@a]>
  }
}

// -----

// Every second element is on its device already.
// CHECK-LABEL: func.func @strided_at_home
// CHECK-NOT: spmd.exchange
// CHECK: array.slice %arg0 [1] to [4] step [2] : <f32[4]> -> <f32[2]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @strided_at_home(%x: !spmd.array<f32[8@a]>) -> !spmd.array<f32[4@a]> {
    %0 = array.slice %x [1] to [8] step [2] : <f32[8@a]> -> <f32[4@a]>
    return %0 : !spmd.array<f32[4@a]>
  }
}

// -----

// So is every third, from a start that differs between devices.
// CHECK-LABEL: func.func @strided_at_places_of_their_own
// CHECK-NOT: spmd.exchange
// CHECK: %[[WINDOW:.*]] = array.dynamic_slice {{.*}} sizes [4]
// CHECK-NEXT: array.slice %[[WINDOW]] [0] to [4] step [3] : <f32[4]> -> <f32[2]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @strided_at_places_of_their_own(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[3@a]> {
    %0 = array.slice %x [1] to [10] step [3] : <f32[10@a]> -> <f32[3@a]>
    return %0 : !spmd.array<f32[3@a]>
  }
}

// -----

// Each device inserts the zeros between its elements, and begins with a different number of them.
// CHECK-LABEL: func.func @dilated_at_places_of_their_own
// CHECK-NOT: spmd.exchange
// CHECK: array.pad %arg0 {{.*}} interior [1]
// CHECK: array.dynamic_slice {{.*}} sizes [9]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @dilated_at_places_of_their_own(%x: !spmd.array<f32[9@a]>, %zero: !spmd.array<f32[]>)
      -> !spmd.array<f32[17@a]> {
    %0 = array.pad %x with %zero low [0] high [0] interior [1] : <f32[9@a]>, <f32[]> -> <f32[17@a]>
    return %0 : !spmd.array<f32[17@a]>
  }
}

// -----

// CHECK-LABEL: func.func @strided
// CHECK: spmd.exchange %arg0 {{.*}} moves [#spmd.move<shift = 2, stride = 3>]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @strided(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[3@a]> {
    %0 = array.slice %x [2] to [10] step [3] : <f32[10@a]> -> <f32[3@a]>
    return %0 : !spmd.array<f32[3@a]>
  }
}

// -----

// CHECK-LABEL: func.func @reverse
// CHECK: spmd.exchange %arg0 {{.*}} moves [#spmd.move<shift = 9, stride = -1>]
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @reverse(%x: !spmd.array<f32[10@a]>) -> !spmd.array<f32[10@a]> {
    %0 = array.reverse %x dims [0] : <f32[10@a]> -> <f32[10@a]>
    return %0 : !spmd.array<f32[10@a]>
  }
}

// -----

// Shards of 10, 10, 10 and 5 elements become shards of 9, 9, 9 and 8: each device sends the ends of its run.
// CHECK-LABEL: func.func @joined_uneven_dims
// CHECK: %[[FLAT:.*]] = array.reshape %arg0 : <f32[2, 5, 8]> -> <f32[10, 8]>
// CHECK: %[[MOVED:.*]] = spmd.exchange %[[FLAT]] over <a> from !spmd.array<f32[35@a, 8@_]> to !spmd.array<f32[36@a, 8@_]> moves [#spmd.move<end = 35, block = 5>, #spmd.move<>]
// CHECK-SAME: reshape takes f32[7@a, 5@_, 8@_] to f32[35@a, 8@_]
// CHECK-NOT: spmd.all_gather
// CHECK: return %[[MOVED]] : !spmd.array<f32[9, 8]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @joined_uneven_dims(%x: !spmd.array<f32[7@a, 5@_, 8@_]>) -> !spmd.array<f32[35@a, 8@_]> {
    %0 = array.reshape %x : <f32[7@a, 5@_, 8@_]> -> <f32[35@a, 8@_]>
    return %0 : !spmd.array<f32[35@a, 8@_]>
  }
}

// -----

// Over two axes 19 pairs are sharded as 5, 5 5, 4, and 38 elements as 10, 9 10, 9: two elements are sent.
// CHECK-LABEL: func.func @pairs_over_two_axes
// CHECK: %[[PAIRS:.*]] = spmd.exchange %arg0 over <a, b> from !spmd.array<f32[38@"(a, b)"]> to !spmd.array<f32[40@"(a, b)"]> moves [#spmd.move<end = 38, length = 10, step = 2, base = 19>] {{.*}} : <f32[10]> -> <f32[10]>
// CHECK: array.reshape %[[PAIRS]] : <f32[10]> -> <f32[5, 2]>
// CHECK-LABEL: func.func @pairs_from_two_axes
// CHECK: %[[FLAT:.*]] = array.reshape %arg0 : <f32[5, 2]> -> <f32[10]>
// CHECK: spmd.exchange %[[FLAT]] over <a, b> from !spmd.array<f32[38@"(a, b)"]> to !spmd.array<f32[40@"(a, b)"]> moves [#spmd.move<end = 39, length = 10, step = 1, base = 38, block = 2>] {{.*}} : <f32[10]> -> <f32[10]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @pairs_over_two_axes(%x: !spmd.array<f32[38@"(a, b)"]>) -> !spmd.array<f32[19@"(a, b)", 2@_]> {
    %0 = array.reshape %x : <f32[38@"(a, b)"]> -> <f32[19@"(a, b)", 2@_]>
    return %0 : !spmd.array<f32[19@"(a, b)", 2@_]>
  }
  func.func @pairs_from_two_axes(%x: !spmd.array<f32[19@"(a, b)", 2@_]>) -> !spmd.array<f32[38@"(a, b)"]> {
    %0 = array.reshape %x : <f32[19@"(a, b)", 2@_]> -> <f32[38@"(a, b)"]>
    return %0 : !spmd.array<f32[38@"(a, b)"]>
  }
}

// -----

// A sharded minor dimension has no runs: rows are gathered.
// CHECK-LABEL: func.func @joined_minor_dim
// CHECK-NOT: spmd.exchange
// CHECK: spmd.all_gather
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @joined_minor_dim(%x: !spmd.array<f32[7@_, 5@a]>) -> !spmd.array<f32[35@_]> {
    %0 = array.reshape %x : <f32[7@_, 5@a]> -> <f32[35@_]>
    return %0 : !spmd.array<f32[35@_]>
  }
}

// -----

// A reshape of an operand that was resharded twice, without other uses: one exchange from its first sharding.
// CHECK-LABEL: func.func @passed_by
// CHECK-NOT: all_gather
// CHECK: spmd.exchange %{{.*}} : <f32[1, 3, 9, 1]> -> <f32[3, 3, 9, 1]>
// CHECK-NOT: spmd.exchange
module attributes {spmd.mesh = #spmd.mesh<m, a=16, b=1>} {
  func.func @passed_by(%x: !spmd.array<f32[5@a, 3@_, 9@_]>) -> !spmd.array<f32[5@"a:(1)2", 3@b, 9@_, 1@_]> {
    %0 = spmd.reshard %x : <f32[5@a, 3@_, 9@_]> -> <f32[5@_, 3@_, 9@"(b, a:(1)2)"]>
    %1 = spmd.reshard %0 : <f32[5@_, 3@_, 9@"(b, a:(1)2)"]> -> <f32[5@"a:(2)8", 3@_, 9@"(a:(1)2, b)"]>
    %2 = array.reshape %1 : <f32[5@"a:(2)8", 3@_, 9@"(a:(1)2, b)"]> -> <f32[5@"a:(1)2", 3@b, 9@_, 1@_]>
    return %2 : !spmd.array<f32[5@"a:(1)2", 3@b, 9@_, 1@_]>
  }
}

// -----

// Shards of the array in front of a reshard without other uses are no runs that could be regrouped; those of the
// reshard's result are.
// CHECK-LABEL: func.func @runs_behind_a_reshard
// CHECK: %[[ROWS:.*]] = spmd.all_to_all %{{.*}} split 0 concat 1 over <b> : <f32[2, 2]> -> <f32[1, 6]>
// CHECK-NEXT: %[[FLAT:.*]] = array.reshape %[[ROWS]] : <f32[1, 6]> -> <f32[6]>
// CHECK-NEXT: spmd.exchange %[[FLAT]] {{.*}} : <f32[6]> -> <f32[2]>
// CHECK-NEXT: return
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=3>} {
  func.func @runs_behind_a_reshard(%x: !spmd.array<f32[2@_, 6@b]>) -> !spmd.array<f32[12@"(b, a)"]> {
    %0 = array.negate %x : <f32[2@_, 6@b]>
    %1 = spmd.reshard %0 : <f32[2@_, 6@b]> -> <f32[2@b, 6@_]>
    %2 = spmd.reshard %1 : <f32[2@b, 6@_]> -> <f32[2@_, 6@_]>
    %3 = array.reshape %1 : <f32[2@b, 6@_]> -> <f32[12@"(b, a)"]>
    return %3 : !spmd.array<f32[12@"(b, a)"]>
  }
}
