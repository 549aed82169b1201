// RUN: spmd-opt %s --split-input-file --spmdc-distribute-sorts | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-distribute-sorts --spmdc-insert-reshards --spmdc-partition --canonicalize --spmdc-verify-partitioned | FileCheck %s --check-prefix=LOCAL
// RUN: spmd-opt %s --split-input-file --spmdc-distribute-sorts --debug-only=distribute-sorts 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[distribute-sorts] {{.*}}argsort: no distributed top-k: the candidates of all shards have 64 bytes, the sorted dimension 64{{$}}
// TRACE: {{^}}[distribute-sorts] {{.*}}argsort: not distributed: no distributed sort takes less time and sends less than a gather ({{.*}} us, 192 bytes){{$}}

// The candidates of each device, then the first of those: their rows are spread over the devices.
// CHECK-LABEL: func.func @top_k
// CHECK: %[[PIECES:.*]] = array.reshape %arg0 : <f32[64@_, 4096@a]> -> <f32[64@_, 4@a, 1024@_]>
// CHECK: %[[RANKS:.*]] = array.argsort %[[PIECES]] dim 2 descending = true
// CHECK: %[[FIRST:.*]] = array.slice %[[RANKS]] [0, 0, 0] to [64, 4, 3]
// CHECK: %[[ELEMENTS:.*]] = array.take_along %[[PIECES]], %[[FIRST]] dim 2
// CHECK: %[[ALL:.*]] = array.reshape %[[ELEMENTS]] : <f32[64@_, 4@a, 3@_]> -> <f32[64@_, 12@a]>
// CHECK: %[[NUMBER:.*]] = array.iota dim 1
// CHECK: %[[SIZE:.*]] = array.constant dense<1024>
// CHECK: %[[START:.*]] = array.multiply %[[NUMBER]], %[[SIZE]]
// CHECK: %[[POSITIONS:.*]] = array.add %[[FIRST]], %[[START]]
// CHECK: %[[PLACES:.*]] = array.reshape %[[POSITIONS]] : <i32[64@_, 4@a, 3@_]> -> <i32[64@_, 12@a]>
// CHECK: array.argsort %[[ALL]] dim 1 descending = true : <f32[64@_, 12@a]> -> <i32[64@a, 12@_]>
// CHECK: array.take_along %[[PLACES]]
// CHECK: array.take_along %[[ALL]]
// LOCAL-LABEL: func.func @top_k
// LOCAL-COUNT-2: spmd.all_to_all {{.*}} : <{{[fi]}}32[64, 1, 3]> -> <{{[fi]}}32[16, 4, 3]>
// LOCAL-NOT: spmd.all
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @top_k(%x: !spmd.array<f32[64@_, 4096@a]>) -> (!spmd.array<f32[64@a, 3@_]>, !spmd.array<i32[64@a, 3@_]>) {
    %0 = array.argsort %x dim 1 descending = true : <f32[64@_, 4096@a]> -> <i32[64@a, 4096@_]>
    %1 = array.slice %0 [0, 0] to [64, 3] step [1, 1] : <i32[64@a, 4096@_]> -> <i32[64@a, 3@_]>
    %2 = array.take_along %x, %1 dim 1 : <f32[64@_, 4096@a]>, <i32[64@a, 3@_]> -> <f32[64@a, 3@_]>
    return %2, %1 : !spmd.array<f32[64@a, 3@_]>, !spmd.array<i32[64@a, 3@_]>
  }
}

// -----

// One dimension: the candidates are gathered. The padding of the last shard sorts behind every element.
// CHECK-LABEL: func.func @smallest_of_uneven_pieces
// CHECK: %[[LAST:.*]] = array.constant dense<2147483647> : tensor<i32> -> <i32[]>
// CHECK: array.pad %arg0 with %[[LAST]] low [0] high [1] interior [0] : <i32[4095@a]>, <i32[]> -> <i32[4096@a]>
// LOCAL-LABEL: func.func @smallest_of_uneven_pieces
// LOCAL: spmd.all_gather {{.*}} : <i32[1, 3]> -> <i32[4, 3]>
// LOCAL-NOT: <i32[4095]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @smallest_of_uneven_pieces(%x: !spmd.array<i32[4095@a]>) -> !spmd.array<i32[3@_]> {
    %0 = array.argsort %x dim 0 descending = false : <i32[4095@a]> -> <i32[4095@_]>
    %1 = array.slice %0 [0] to [3] step [1] : <i32[4095@_]> -> <i32[3@_]>
    return %1 : !spmd.array<i32[3@_]>
  }
}

// -----

// The last elements, of uneven shards: the padding of the last shard is as low as any element, and is in front of the
// shard's elements, and in front of all candidates.
// CHECK-LABEL: func.func @last_of_uneven_pieces
// CHECK: array.select %{{.*}} : <bool[4@a, 1024@_]>
// CHECK: %[[RANKS:.*]] = array.argsort %{{.*}} dim 1 descending = false : <i32[4@a, 1024@_]>
// CHECK: array.slice %[[RANKS]] [0, 1021] to [4, 1024] step [1, 1] : <i32[4@a, 1024@_]> -> <i32[4@a, 3@_]>
// CHECK: array.constant dense<-1>
// CHECK: %[[POSITIONS:.*]] = array.reshape %{{.*}} : <i32[4@a, 3@_]> -> <i32[12@a]>
// CHECK: array.argsort %[[POSITIONS]] dim 0 descending = false : <i32[12@a]> -> <i32[12@_]>
// CHECK: %[[ORDER:.*]] = array.argsort %{{.*}} dim 0 descending = false : <i32[12@_]>
// CHECK: array.slice %[[ORDER]] [9] to [12] step [1] : <i32[12@_]> -> <i32[3@_]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @last_of_uneven_pieces(%x: !spmd.array<i32[4095@a]>) -> !spmd.array<i32[3@_]> {
    %0 = array.argsort %x dim 0 descending = false : <i32[4095@a]> -> <i32[4095@_]>
    %1 = array.slice %0 [4092] to [4095] step [1] : <i32[4095@_]> -> <i32[3@_]>
    return %1 : !spmd.array<i32[3@_]>
  }
}

// -----

// Unchanged: as many candidates as elements, and a sort that is used in full.
// CHECK-LABEL: func.func @no_less_to_send
// CHECK: array.argsort %arg0 dim 0 descending = true : <f32[16@a]> -> <i32[16@_]>
// CHECK-LABEL: func.func @all_of_the_order
// CHECK: array.argsort %arg0 dim 0 descending = true : <f32[4096@a]> -> <i32[4096@_]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @no_less_to_send(%x: !spmd.array<f32[16@a]>) -> !spmd.array<i32[2@_]> {
    %0 = array.argsort %x dim 0 descending = true : <f32[16@a]> -> <i32[16@_]>
    %1 = array.slice %0 [0] to [2] step [1] : <i32[16@_]> -> <i32[2@_]>
    return %1 : !spmd.array<i32[2@_]>
  }
  func.func @all_of_the_order(%x: !spmd.array<f32[4096@a]>) -> (!spmd.array<i32[4096@_]>, !spmd.array<i32[2@_]>) {
    %0 = array.argsort %x dim 0 descending = true : <f32[4096@a]> -> <i32[4096@_]>
    %1 = array.slice %0 [0] to [2] step [1] : <i32[4096@_]> -> <i32[2@_]>
    return %0, %1 : !spmd.array<i32[4096@_]>, !spmd.array<i32[2@_]>
  }
}

// -----

// A full sort of a long dimension. Each device sorts its shard and takes samples; every K-th of all samples is one of
// seven splitters, and each device counts its elements between them. If no device has too many for another one, all
// elements are exchanged, sorted, and evened out with halos. Otherwise (else) a columnsort runs: sorted shards are
// dealt, sorted, sent back, sorted by position and by key, and the last 64 elements of each are sorted with the first
// 64 of the next one. No gather.
// position and by key, and the last 64 elements of each with the first 64 of the next one. Nothing is gathered.
// CHECK-LABEL: func.func @whole_order
// CHECK: array.pad %arg0 {{.*}} high [5] {{.*}} -> <f32[1000008@a]>
// CHECK: array.argsort %{{.*}} dim 1 descending = false : <f32[8@a, 125001@_]>
// CHECK: %[[SHOWN:.*]] = array.reshape %{{.*}} : <f32[8@a, [[K:[0-9]+]]@_]> -> <f32[[[ALL:[0-9]+]]@_]>
// CHECK: %[[SORTED:.*]] = array.argsort %[[SHOWN]] dim 0 descending = false
// CHECK: array.slice %[[SORTED]] [[[K]]] to [[[ALL]]] step [[[K]]] : {{.*}} -> <i32[7@_]>
// CHECK: %[[LARGEST:.*]] = array.reduce max %{{.*}} dims [0, 1] : <i32[8@_, 8@_]> -> <i32[]>
// CHECK: %[[ROOM:.*]] = array.constant dense<[[C:[0-9]+]]>
// CHECK: %[[FITS:.*]] = array.compare le %[[LARGEST]], %[[ROOM]]
// CHECK: %[[R:.*]]:2 = array.if %[[FITS]] {
// CHECK: array.transpose %{{.*}} perm [1, 0, 2] : <f32[8@a, 8@_, [[C]]@_]> -> <f32[8@a, 8@_, [[C]]@_]>
// CHECK: array.argsort
// CHECK-NOT: array.argsort
// CHECK: array.transpose %{{.*}} perm [1, 0, 2] : <i32[8@a, 8@_, [[C]]@_]> -> <i32[8@a, 8@_, [[C]]@_]>
// CHECK: array.yield
// CHECK: } else {
// CHECK: array.pad %arg0 {{.*}} high [61] {{.*}} -> <f32[1000064@a]>
// CHECK: array.argsort %{{.*}} dim 1 descending = false : <f32[8@a, 125008@_]>
// CHECK: array.transpose %{{.*}} perm [2, 0, 1] : <f32[8@a, 15626@_, 8@_]> -> <f32[8@a, 8@_, 15626@_]>
// CHECK: array.argsort %{{.*}} dim 1 descending = false : <f32[8@a, 125008@_]>
// CHECK: array.transpose %{{.*}} perm [1, 2, 0] : <f32[8@a, 8@_, 15626@_]> -> <f32[8@a, 15626@_, 8@_]>
// CHECK: array.argsort %{{.*}} dim 1 descending = false : <i32[8@a, 125008@_]>
// CHECK: array.argsort %{{.*}} dim 1 descending = false : <f32[8@a, 125008@_]>
// CHECK: array.argsort %{{.*}} dim 1 descending = false : <i32[8@a, 128@_]>
// CHECK: array.argsort %{{.*}} dim 1 descending = false : <f32[8@a, 128@_]>
// CHECK: return %[[R]]#0, %[[R]]#1
// LOCAL-LABEL: func.func @whole_order
// LOCAL-COUNT-2: spmd.all_gather
// LOCAL: array.if
// LOCAL-NOT: spmd.all_gather
// LOCAL-COUNT-2: spmd.all_to_all
// LOCAL-NOT: spmd.all_{{gather|to_all}}
// LOCAL: } else {
// LOCAL-NOT: spmd.all_gather
// LOCAL-COUNT-4: spmd.all_to_all
// LOCAL-NOT: spmd.all
// LOCAL: return
module attributes {spmd.mesh = #spmd.mesh<m, a=8>} {
  func.func @whole_order(%x: !spmd.array<f32[1000003@a]>) -> (!spmd.array<f32[1000003@a]>, !spmd.array<i32[1000003@a]>) {
    %0 = array.argsort %x dim 0 descending = false : <f32[1000003@a]> -> <i32[1000003@a]>
    %1 = array.take_along %x, %0 dim 0 : <f32[1000003@a]>, <i32[1000003@a]> -> <f32[1000003@a]>
    return %1, %0 : !spmd.array<f32[1000003@a]>, !spmd.array<i32[1000003@a]>
  }
}

// -----

// Equal integers cannot be told apart, so positions are sent in neither branch. Other arrays that are taken by the sort
// are sent with it, also if they are defined behind the sort, if a slice of the sort takes them, and if it indexes them
// (x[order]).
// CHECK-LABEL: func.func @integers
// CHECK-NOT: array.iota {{.*}}1048576
// CHECK: return
// LOCAL-LABEL: func.func @integers
// LOCAL: array.if
// LOCAL-COUNT-1: spmd.all_to_all
// LOCAL-NOT: spmd.all_{{gather|to_all}}
// LOCAL: } else {
// LOCAL-COUNT-2: spmd.all_to_all
// LOCAL-NOT: spmd.all
// LOCAL: return
// LOCAL-LABEL: func.func @another_array
// LOCAL: array.if
// LOCAL-COUNT-2: spmd.all_to_all
// LOCAL-NOT: spmd.all_{{gather|to_all}}
// LOCAL: } else {
// LOCAL-NOT: spmd.all_gather
// LOCAL-COUNT-6: spmd.all_to_all
// LOCAL-NOT: spmd.all
// LOCAL: return
module attributes {spmd.mesh = #spmd.mesh<m, a=8>} {
  func.func @integers(%x: !spmd.array<i32[1048576@a]>) -> !spmd.array<i32[1048576@a]> {
    %0 = array.argsort %x dim 0 descending = false : <i32[1048576@a]> -> <i32[1048576@a]>
    %1 = array.take_along %x, %0 dim 0 : <i32[1048576@a]>, <i32[1048576@a]> -> <i32[1048576@a]>
    return %1 : !spmd.array<i32[1048576@a]>
  }
  func.func @another_array(%x: !spmd.array<i32[1048576@a]>, %y: !spmd.array<f32[1048576@a]>) -> (!spmd.array<f32[1048576@a]>, !spmd.array<i32[524288@a]>) {
    %0 = array.argsort %x dim 0 descending = true : <i32[1048576@a]> -> <i32[1048576@a]>
    %z = array.negate %y : <f32[1048576@a]>
    %1 = array.take %z, %0 dim 0 : <f32[1048576@a]>, <i32[1048576@a]> -> <f32[1048576@a]>
    %2 = array.slice %0 [0] to [524288] step [1] : <i32[1048576@a]> -> <i32[524288@a]>
    %3 = array.take_along %x, %2 dim 0 : <i32[1048576@a]>, <i32[524288@a]> -> <i32[524288@a]>
    return %1, %3 : !spmd.array<f32[1048576@a]>, !spmd.array<i32[524288@a]>
  }
}

// -----

// Along two axes.
// CHECK-LABEL: func.func @two_axes
// CHECK: array.argsort %{{.*}} dim 1 descending = false : <f32[4@"(a, b)", 262144@_]>
// LOCAL-LABEL: func.func @two_axes
// LOCAL: array.if
// LOCAL: spmd.all_to_all {{.*}} over <a, b>
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @two_axes(%x: !spmd.array<f32[1048576@"(a, b)"]>) -> !spmd.array<f32[1048576@"(a, b)"]> {
    %0 = array.argsort %x dim 0 descending = false : <f32[1048576@"(a, b)"]> -> <i32[1048576@"(a, b)"]>
    %1 = array.take_along %x, %0 dim 0 : <f32[1048576@"(a, b)"]>, <i32[1048576@"(a, b)"]> -> <f32[1048576@"(a, b)"]>
    return %1 : !spmd.array<f32[1048576@"(a, b)"]>
  }
}

// -----

// With two devices, half of the bytes of a gather, which is used for other data.
// LOCAL-LABEL: func.func @two_devices
// LOCAL-COUNT-2: spmd.all_gather
// LOCAL-NOT: spmd.all_gather
// LOCAL: array.if
// LOCAL: spmd.all_to_all {{.*}} over <b>
// LOCAL-NOT: spmd.all_gather
// LOCAL: } else {
// LOCAL: spmd.all_gather {{.*}} : <f32[524288]> -> <f32[1048576]>
module attributes {spmd.mesh = #spmd.mesh<m, b=2>} {
  func.func @two_devices(%x: !spmd.array<f32[1048576@b]>) -> !spmd.array<f32[1048576@b]> {
    %0 = array.argsort %x dim 0 descending = false : <f32[1048576@b]> -> <i32[1048576@b]>
    %1 = array.take_along %x, %0 dim 0 : <f32[1048576@b]>, <i32[1048576@b]> -> <f32[1048576@b]>
    return %1 : !spmd.array<f32[1048576@b]>
  }
}

// -----

// If latencies exceed the time of the bytes, and if the result is replicated, the dimension is gathered. So it is in a
// region that is manual along another axis, where all devices would run both branches. An array that depends on the
// sort cannot be sent with it: the positions are computed, and the array is taken by them.
// CHECK-LABEL: func.func @short
// CHECK-NOT: array.if
// CHECK-LABEL: func.func @whole_everywhere
// CHECK-NOT: array.if
// CHECK-LABEL: func.func @in_a_region
// CHECK: spmd.manual
// CHECK-NOT: array.if
// CHECK-LABEL: func.func @made_of_the_order
// CHECK: %[[ORDER:.*]] = array.if
// CHECK: %[[Z:.*]] = array.convert %[[ORDER]]
// CHECK: array.take_along %[[Z]], %[[ORDER]]
module attributes {spmd.mesh = #spmd.mesh<m, a=8, b=2>} {
  func.func @short(%x: !spmd.array<f32[2048@a]>) -> !spmd.array<f32[2048@a]> {
    %0 = array.argsort %x dim 0 descending = false : <f32[2048@a]> -> <i32[2048@a]>
    %1 = array.take_along %x, %0 dim 0 : <f32[2048@a]>, <i32[2048@a]> -> <f32[2048@a]>
    return %1 : !spmd.array<f32[2048@a]>
  }
  func.func @whole_everywhere(%x: !spmd.array<f32[4096@a]>) -> !spmd.array<i32[4096@_]> {
    %0 = array.argsort %x dim 0 descending = false : <f32[4096@a]> -> <i32[4096@_]>
    return %0 : !spmd.array<i32[4096@_]>
  }
  func.func @in_a_region(%x: !spmd.array<f32[2@b, 1048576@a]>) -> !spmd.array<f32[2@b, 1048576@a]> {
    %0 = spmd.manual(%x) over <b> {
    ^bb0(%p: !spmd.array<f32[1@_, 1048576@a]>):
      %1 = array.argsort %p dim 1 descending = false : <f32[1@_, 1048576@a]> -> <i32[1@_, 1048576@a]>
      %2 = array.take_along %p, %1 dim 1 : <f32[1@_, 1048576@a]>, <i32[1@_, 1048576@a]> -> <f32[1@_, 1048576@a]>
      spmd.yield %2 : !spmd.array<f32[1@_, 1048576@a]>
    } : (!spmd.array<f32[2@b, 1048576@a]>) -> !spmd.array<f32[2@b, 1048576@a]>
    return %0 : !spmd.array<f32[2@b, 1048576@a]>
  }
  func.func @made_of_the_order(%x: !spmd.array<f32[1048576@a]>) -> !spmd.array<f32[1048576@a]> {
    %0 = array.argsort %x dim 0 descending = false : <f32[1048576@a]> -> <i32[1048576@a]>
    %1 = array.convert %0 : <i32[1048576@a]> -> <f32[1048576@a]>
    %2 = array.take_along %1, %0 dim 0 : <f32[1048576@a]>, <i32[1048576@a]> -> <f32[1048576@a]>
    return %2 : !spmd.array<f32[1048576@a]>
  }
}

// -----

// Unchanged: rows can be sharded instead, and an all_to_all in both directions sends each element twice.
// CHECK-LABEL: func.func @other_dimensions
// CHECK: array.argsort %arg0 dim 0
// LOCAL-LABEL: func.func @other_dimensions
module attributes {spmd.mesh = #spmd.mesh<m, a=8>} {
  func.func @other_dimensions(%x: !spmd.array<f32[65536@a, 64@_]>) -> !spmd.array<i32[65536@a, 64@_]> {
    %0 = array.argsort %x dim 0 descending = false : <f32[65536@a, 64@_]> -> <i32[65536@a, 64@_]>
    return %0 : !spmd.array<i32[65536@a, 64@_]>
  }
}

// -----

// An argmax of a merged dimension of which no device has contiguous elements: each device's own, then that of those, in
// the order of global positions. No element of the array is sent.
// CHECK-LABEL: func.func @extreme_of_all
// LOCAL-LABEL: func.func @extreme_of_all
// LOCAL-COUNT-2: spmd.all_gather {{.*}}[1, 1]> -> <{{[fi]}}32[4, 1]>
// LOCAL-NOT: spmd.all
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @extreme_of_all(%x: !spmd.array<f32[8@_, 16@a]>) -> !spmd.array<i32[]> {
    // CHECK: %[[APART:.*]] = array.reshape %arg0 : <f32[8@_, 16@a]> -> <f32[8@_, 4@a, 4@_]>
    // CHECK: %[[FRONT:.*]] = array.transpose %[[APART]] perm [1, 0, 2]
    // CHECK: %[[PIECES:.*]] = array.reshape %[[FRONT]] : <f32[4@a, 8@_, 4@_]> -> <f32[4@a, 32@_]>
    // CHECK: array.arg_reduce %[[PIECES]] max = true dim 1 : <f32[4@a, 32@_]> -> <i32[4@a]>
    // CHECK: %[[ORDER:.*]] = array.argsort %{{.*}} dim 0 descending = false : <i32[4@a]> -> <i32[4@_]>
    // CHECK: %[[VALUES:.*]] = array.take_along %{{.*}}, %[[ORDER]] dim 0 : <f32[4@a]>
    // CHECK: %[[POSITIONS:.*]] = array.take_along %{{.*}}, %[[ORDER]] dim 0 : <i32[4@a]>
    // CHECK: array.arg_reduce %[[VALUES]] max = true dim 0
    // CHECK: array.take_along %[[POSITIONS]]
    // CHECK-NOT: array.reshape %arg0
    %0 = array.reshape %x : <f32[8@_, 16@a]> -> <f32[128@_]>
    %1 = array.arg_reduce %0 max = true dim 0 : <f32[128@_]> -> <i32[]>
    return %1 : !spmd.array<i32[]>
  }
}

// -----

// Top-k of a flattened matrix whose columns are sharded, also of absolute values: candidates of each device.
// CHECK-LABEL: func.func @first_of_merged
// CHECK: %[[ABS:.*]] = array.abs %arg0 : <f32[64@_, 1024@a]>
// CHECK: array.reshape %[[ABS]] : <f32[64@_, 1024@a]> -> <f32[64@_, 4@a, 256@_]>
// CHECK: array.argsort %{{.*}} dim 1 descending = true : <f32[4@a, 16384@_]>
// CHECK: array.argsort %{{.*}} dim 0 descending = false : <i32[32@a]> -> <i32[32@_]>
// CHECK: array.argsort %{{.*}} dim 0 descending = true : <f32[32@_]>
// LOCAL-LABEL: func.func @first_of_merged
// LOCAL-COUNT-2: spmd.all_gather {{.*}}[1, 8]> -> <{{[fi]}}32[4, 8]>
// LOCAL-NOT: spmd.all
// Rows and columns sharded over three axes, none of which divides them: padding is behind the elements of each device,
// and nothing is evened out.
// LOCAL-LABEL: func.func @first_of_uneven
// LOCAL-NOT: spmd.exchange
// LOCAL-COUNT-2: spmd.all_gather {{.*}} over <a, b, c>
// LOCAL-NOT: spmd.{{all|exchange}}
// LOCAL-LABEL: func.func @ends_of_rows
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2, c=3>} {
  func.func @first_of_merged(%x: !spmd.array<f32[64@_, 1024@a]>) -> (!spmd.array<f32[8@_]>, !spmd.array<i32[8@_]>) {
    %f = array.reshape %x : <f32[64@_, 1024@a]> -> <f32[65536@_]>
    %0 = array.abs %f : <f32[65536@_]>
    %1 = array.argsort %0 dim 0 descending = true : <f32[65536@_]> -> <i32[65536@_]>
    %2 = array.slice %1 [0] to [8] step [1] : <i32[65536@_]> -> <i32[8@_]>
    %3 = array.take_along %0, %2 dim 0 : <f32[65536@_]>, <i32[8@_]> -> <f32[8@_]>
    return %3, %2 : !spmd.array<f32[8@_]>, !spmd.array<i32[8@_]>
  }
  func.func @first_of_uneven(%x: !spmd.array<f32[101@a, 103@"(b, c)"]>) -> !spmd.array<i32[8@_]> {
    %0 = array.reshape %x : <f32[101@a, 103@"(b, c)"]> -> <f32[10403@_]>
    %1 = array.argsort %0 dim 0 descending = true : <f32[10403@_]> -> <i32[10403@_]>
    %2 = array.slice %1 [0] to [8] step [1] : <i32[10403@_]> -> <i32[8@_]>
    return %2 : !spmd.array<i32[8@_]>
  }
  func.func @ends_of_rows(%x: !spmd.array<f32[6@b, 64@_, 1024@a]>) -> !spmd.array<i32[6@b, 8@_]> {
    // CHECK-LABEL: func.func @ends_of_rows
    // CHECK: array.argsort %{{.*}} dim 2 descending = false : <f32[6@b, 4@a, 16384@_]>
    %0 = array.reshape %x : <f32[6@b, 64@_, 1024@a]> -> <f32[6@b, 65536@_]>
    %1 = array.argsort %0 dim 1 descending = false : <f32[6@b, 65536@_]> -> <i32[6@b, 65536@_]>
    %2 = array.slice %1 [0, 65528] to [6, 65536] step [1, 1] : <i32[6@b, 65536@_]> -> <i32[6@b, 8@_]>
    return %2 : !spmd.array<i32[6@b, 8@_]>
  }
}

// -----

// All elements of such a sort: a sample sort of runs, which one all_to_all creates.
// CHECK-LABEL: func.func @whole_order_of_merged
// CHECK: array.reshape %arg0 : <i32[1024@_, 1024@a]> -> <i32[1048576@a]>
// CHECK: array.if
module attributes {spmd.mesh = #spmd.mesh<m, a=8>} {
  func.func @whole_order_of_merged(%x: !spmd.array<i32[1024@_, 1024@a]>) -> !spmd.array<i32[1048576@a]> {
    %0 = array.reshape %x : <i32[1024@_, 1024@a]> -> <i32[1048576@_]>
    %1 = array.argsort %0 dim 0 descending = false : <i32[1048576@_]> -> <i32[1048576@_]>
    %2 = array.take_along %0, %1 dim 0 : <i32[1048576@_]>, <i32[1048576@_]> -> <i32[1048576@a]>
    return %2 : !spmd.array<i32[1048576@a]>
  }
}

// -----

// With sharded rows, shards are runs of the flat array.
// CHECK-LABEL: func.func @extreme_of_runs
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @extreme_of_runs(%x: !spmd.array<f32[8@a, 16@_]>) -> !spmd.array<i32[]> {
    // CHECK-NEXT: array.reshape %arg0
    // CHECK-NEXT: array.arg_reduce
    // CHECK-NEXT: return
    %0 = array.reshape %x : <f32[8@a, 16@_]> -> <f32[128@a]>
    %1 = array.arg_reduce %0 max = true dim 0 : <f32[128@a]> -> <i32[]>
    return %1 : !spmd.array<i32[]>
  }
}
