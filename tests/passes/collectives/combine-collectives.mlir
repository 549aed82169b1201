// Small all_reduces that do not need each other's results become one call.
// RUN: spmd-opt %s --spmdc-combine-collectives --split-input-file | FileCheck %s
// RUN: spmd-opt %s --spmdc-combine-collectives --spmdc-combine-collectives --split-input-file | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-combine-collectives --debug-only=combine-collectives 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[combine-collectives] {{.*}}all_reduce: not combined: no other collective of its kind is independent of it and near{{$}}
// TRACE: {{^}}[combine-collectives] {{.*}}all_reduce: not combined: copying its 8388608 bytes takes {{.*}} ms, a call of its own 20 us{{$}}
// TRACE: {{^}}[combine-collectives] {{.*}}all_gather: not combined: its shards are uneven{{$}}

// Shapes and ranks may differ, a scalar counts as one element; the result has all reasons.
// CHECK-LABEL: func.func @alike
// CHECK-SAME: (%[[X:.*]]: !spmd.array<f32[8]>, %[[Y:.*]]: !spmd.array<f32[2, 3]>, %[[Z:.*]]: !spmd.array<f32[]>)
// CHECK: %[[Y1:.*]] = array.reshape %[[Y]] : <f32[2, 3]> -> <f32[1, 6]>
// CHECK: %[[Z1:.*]] = array.reshape %[[Z]] : <f32[]> -> <f32[1, 1]>
// CHECK: %[[J:.*]] = array.concatenate %{{.*}}, %[[Y1]], %[[Z1]] dim 1
// CHECK: %[[R:.*]] = spmd.all_reduce sum %[[J]] over <a> {why = "first; second"} : <f32[1, 15]> -> <f32[1, 15]>
// CHECK-NOT: all_reduce
// CHECK: %[[S:.*]] = array.slice %[[R]] [0, 8] to [1, 14] step [1, 1] : <f32[1, 15]> -> <f32[1, 6]>
// CHECK: array.reshape %[[S]] : <f32[1, 6]> -> <f32[2, 3]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @alike(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[2, 3]>, %z: !spmd.array<f32[]>)
      -> (!spmd.array<f32[8]>, !spmd.array<f32[2, 3]>, !spmd.array<f32[]>) {
    %0 = spmd.all_reduce sum %x over <a> {why = "first"} : <f32[8]> -> <f32[8]>
    %1 = spmd.all_reduce sum %y over <a> {why = "second"} : <f32[2, 3]> -> <f32[2, 3]>
    %2 = spmd.all_reduce sum %z over <a> {why = "first"} : <f32[]> -> <f32[]>
    return %0, %1, %2 : !spmd.array<f32[8]>, !spmd.array<f32[2, 3]>, !spmd.array<f32[]>
  }
}

// -----

// Other kinds, axes or element types: each is a call of its own.
// CHECK-LABEL: func.func @not_alike
// CHECK-COUNT-4: spmd.all_reduce
// CHECK-NOT: array.concatenate
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @not_alike(%x: !spmd.array<f32[8]>, %y: !spmd.array<i32[8]>)
      -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<i32[8]>) {
    %0 = spmd.all_reduce sum %x over <a> : <f32[8]> -> <f32[8]>
    %1 = spmd.all_reduce max %x over <a> : <f32[8]> -> <f32[8]>
    %2 = spmd.all_reduce sum %x over <b> : <f32[8]> -> <f32[8]>
    %3 = spmd.all_reduce sum %y over <a> : <i32[8]> -> <i32[8]>
    return %0, %1, %2, %3 : !spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<i32[8]>
  }
}

// -----

// One that needs the other's result is not combined with it. A third is combined with the first; its users move behind.
// CHECK-LABEL: func.func @one_after_the_other
// CHECK: %[[N:.*]] = array.negate %arg1
// CHECK: spmd.all_reduce sum %{{.*}} over <a> : <f32[1, 16]> -> <f32[1, 16]>
// CHECK: array.sin
// CHECK: spmd.all_reduce sum %{{.*}} over <a> : <f32[8]> -> <f32[8]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @one_after_the_other(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[8]>)
      -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>) {
    %0 = spmd.all_reduce sum %x over <a> : <f32[8]> -> <f32[8]>
    %1 = array.sin %0 : <f32[8]>
    %2 = spmd.all_reduce sum %1 over <a> : <f32[8]> -> <f32[8]>
    %3 = array.negate %y : <f32[8]>
    %4 = spmd.all_reduce sum %3 over <a> : <f32[8]> -> <f32[8]>
    return %2, %4 : !spmd.array<f32[8]>, !spmd.array<f32[8]>
  }
}

// -----

// Two groups that would depend on each other: only one is combined.
// CHECK-LABEL: func.func @crosswise
// CHECK-COUNT-3: spmd.all_reduce
// CHECK-NOT: spmd.all_reduce
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @crosswise(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[8]>)
      -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>) {
    %0 = spmd.all_reduce sum %x over <a> : <f32[8]> -> <f32[8]>
    %1 = spmd.all_reduce sum %0 over <b> : <f32[8]> -> <f32[8]>
    %2 = spmd.all_reduce sum %y over <b> : <f32[8]> -> <f32[8]>
    %3 = spmd.all_reduce sum %2 over <a> : <f32[8]> -> <f32[8]>
    return %1, %3 : !spmd.array<f32[8]>, !spmd.array<f32[8]>
  }
}

// -----

// Copying 4 MiB into a combined array takes longer than a call.
// CHECK-LABEL: func.func @large
// CHECK-COUNT-2: spmd.all_reduce sum %{{.*}} over <a> : <f32[1048576]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @large(%x: !spmd.array<f32[1048576]>, %y: !spmd.array<f32[1048576]>)
      -> (!spmd.array<f32[1048576]>, !spmd.array<f32[1048576]>) {
    %0 = spmd.all_reduce sum %x over <a> : <f32[1048576]> -> <f32[1048576]>
    %1 = spmd.all_reduce sum %y over <a> : <f32[1048576]> -> <f32[1048576]>
    return %0, %1 : !spmd.array<f32[1048576]>, !spmd.array<f32[1048576]>
  }
}

// -----

// Prints keep their order.
// CHECK-LABEL: func.func @prints
// CHECK: spmd.all_reduce
// CHECK: array.print
// CHECK: spmd.all_reduce
// CHECK: array.print
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @prints(%x: !spmd.array<f32[]>, %y: !spmd.array<f32[]>) {
    %0 = spmd.all_reduce sum %x over <a> : <f32[]> -> <f32[]>
    array.print ["x ", ""] (%0) : !spmd.array<f32[]>
    %1 = spmd.all_reduce sum %y over <a> : <f32[]> -> <f32[]>
    array.print ["y ", ""] (%1) : !spmd.array<f32[]>
    return
  }
}

// -----

// Also in a loop; a collective outside of it is not a member.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: spmd.all_reduce sum %arg0 over <a> : <f32[8]>
// CHECK: array.for
// CHECK: spmd.all_reduce sum %{{.*}} over <a> : <f32[1, 16]> -> <f32[1, 16]>
// CHECK-NOT: spmd.all_reduce
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @in_a_loop(%x: !spmd.array<f32[8]>) -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>) {
    %0 = spmd.all_reduce sum %x over <a> : <f32[8]> -> <f32[8]>
    %1:2 = array.for 0 to 4 (%0, %x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8]>, %d: !spmd.array<f32[8]>):
      %2 = spmd.all_reduce sum %c over <a> : <f32[8]> -> <f32[8]>
      %3 = spmd.all_reduce sum %d over <a> : <f32[8]> -> <f32[8]>
      array.yield %2, %3 : !spmd.array<f32[8]>, !spmd.array<f32[8]>
    } : (!spmd.array<f32[8]>, !spmd.array<f32[8]>) -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>)
    return %1#0, %1#1 : !spmd.array<f32[8]>, !spmd.array<f32[8]>
  }
}

// -----

// Shards are the rows of one matrix, along any gathered dimension.
// CHECK-LABEL: func.func @gathers
// CHECK: %[[G:.*]] = spmd.all_gather %{{.*}} dim 0 over <a> : <f32[1, 14]> -> <f32[4, 14]>
// CHECK: %[[S:.*]] = array.slice %[[G]] [0, 8] to [4, 14] step [1, 1]
// CHECK: %[[P:.*]] = array.reshape %[[S]] : <f32[4, 6]> -> <f32[4, 2, 3]>
// CHECK: %[[T:.*]] = array.transpose %[[P]] perm [1, 0, 2] : <f32[4, 2, 3]> -> <f32[2, 4, 3]>
// CHECK: array.reshape %[[T]] : <f32[2, 4, 3]> -> <f32[2, 12]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @gathers(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[2, 3]>)
      -> (!spmd.array<f32[32]>, !spmd.array<f32[2, 12]>) {
    %0 = spmd.all_gather %x dim 0 over <a> : <f32[8]> -> <f32[32]>
    %1 = spmd.all_gather %y dim 1 over <a> : <f32[2, 3]> -> <f32[2, 12]>
    return %0, %1 : !spmd.array<f32[32]>, !spmd.array<f32[2, 12]>
  }
}

// -----

// CHECK-LABEL: func.func @scatters
// CHECK: %[[C:.*]] = array.reshape %arg1 : <f32[2, 12]> -> <f32[2, 4, 3]>
// CHECK: %[[T:.*]] = array.transpose %[[C]] perm [1, 0, 2] : <f32[2, 4, 3]> -> <f32[4, 2, 3]>
// CHECK: array.reshape %[[T]] : <f32[4, 2, 3]> -> <f32[4, 6]>
// CHECK: spmd.reduce_scatter sum %{{.*}} dim 0 over <a> : <f32[4, 14]> -> <f32[1, 14]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @scatters(%x: !spmd.array<f32[32]>, %y: !spmd.array<f32[2, 12]>)
      -> (!spmd.array<f32[8]>, !spmd.array<f32[2, 3]>) {
    %0 = spmd.reduce_scatter sum %x dim 0 over <a> : <f32[32]> -> <f32[8]>
    %1 = spmd.reduce_scatter sum %y dim 1 over <a> : <f32[2, 12]> -> <f32[2, 3]>
    return %0, %1 : !spmd.array<f32[8]>, !spmd.array<f32[2, 3]>
  }
}

// -----

// Uneven shards cannot be rows.
// CHECK-LABEL: func.func @uneven
// CHECK-COUNT-2: spmd.all_gather %{{.*}} -> <f32[30]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @uneven(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[8]>) -> (!spmd.array<f32[30]>, !spmd.array<f32[30]>) {
    %0 = spmd.all_gather %x dim 0 over <a> : <f32[8]> -> <f32[30]>
    %1 = spmd.all_gather %y dim 0 over <a> : <f32[8]> -> <f32[30]>
    return %0, %1 : !spmd.array<f32[30]>, !spmd.array<f32[30]>
  }
}

// -----

// Before the all_to_all a row is what one device receives; behind it, what one device has sent.
// CHECK-LABEL: func.func @all_to_alls
// CHECK: %[[C:.*]] = array.reshape %arg1 : <f32[2, 12]> -> <f32[2, 4, 3]>
// CHECK: %[[T:.*]] = array.transpose %[[C]] perm [1, 0, 2] : <f32[2, 4, 3]> -> <f32[4, 2, 3]>
// CHECK: array.reshape %[[T]] : <f32[4, 2, 3]> -> <f32[4, 6]>
// CHECK: %[[E:.*]] = spmd.all_to_all %{{.*}} split 0 concat 1 over <a> : <f32[4, 14]> -> <f32[1, 56]>
// CHECK-NOT: spmd.all_to_all
// CHECK: %[[R:.*]] = array.reshape %[[E]] : <f32[1, 56]> -> <f32[4, 14]>
// CHECK: %[[S:.*]] = array.slice %[[R]] [0, 8] to [4, 14] step [1, 1]
// CHECK: array.reshape %[[S]] : <f32[4, 6]> -> <f32[8, 3]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @all_to_alls(%x: !spmd.array<f32[4, 8]>, %y: !spmd.array<f32[2, 12]>)
      -> (!spmd.array<f32[1, 32]>, !spmd.array<f32[8, 3]>) {
    %0 = spmd.all_to_all %x split 0 concat 1 over <a> : <f32[4, 8]> -> <f32[1, 32]>
    %1 = spmd.all_to_all %y split 1 concat 0 over <a> : <f32[2, 12]> -> <f32[8, 3]>
    return %0, %1 : !spmd.array<f32[1, 32]>, !spmd.array<f32[8, 3]>
  }
}

// -----

// Permutes are combined only if they have the same pairs.
// CHECK-LABEL: func.func @permutes
// CHECK: spmd.collective_permute %{{.*}} pairs [0, 1, 1, 0] over <b> : <f32[1, 14]> -> <f32[1, 14]>
// CHECK: spmd.collective_permute %{{.*}} pairs [0, 1] over <b> : <f32[8]> -> <f32[8]>
// CHECK-NOT: spmd.collective_permute
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @permutes(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[2, 3]>)
      -> (!spmd.array<f32[8]>, !spmd.array<f32[2, 3]>, !spmd.array<f32[8]>) {
    %0 = spmd.collective_permute %x pairs [0, 1, 1, 0] over <b> : <f32[8]> -> <f32[8]>
    %1 = spmd.collective_permute %y pairs [0, 1, 1, 0] over <b> : <f32[2, 3]> -> <f32[2, 3]>
    %2 = spmd.collective_permute %x pairs [0, 1] over <b> : <f32[8]> -> <f32[8]>
    return %0, %1, %2 : !spmd.array<f32[8]>, !spmd.array<f32[2, 3]>, !spmd.array<f32[8]>
  }
}

// -----

// The combined gather runs where the first one did if all operands are computed there, and does not wait for operations
// before the last one. It waits for an operand that is computed in between.
// CHECK-LABEL: func.func @early
// CHECK-NOT: array.dot_general
// CHECK: spmd.all_gather %{{.*}} dim 0 over <a> : <f32[1, 4]> -> <f32[4, 4]>
// CHECK: array.dot_general
// CHECK: array.dot_general
// CHECK: array.tanh
// CHECK: spmd.all_reduce
// CHECK-NOT: spmd.all_reduce
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @early(%b: !spmd.array<f32[2]>, %c: !spmd.array<f32[2]>, %x: !spmd.array<f32[8, 8]>)
      -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8, 8]>, !spmd.array<f32[8]>, !spmd.array<f32[2]>) {
    %0 = spmd.all_gather %b dim 0 over <a> : <f32[2]> -> <f32[8]>
    %s = spmd.all_reduce sum %0 over <a> : <f32[8]> -> <f32[8]>
    %1 = array.dot_general %x, %x contract [1] x [0] batch [] x [] : <f32[8, 8]>, <f32[8, 8]> -> <f32[8, 8]>
    %2 = spmd.all_gather %c dim 0 over <a> : <f32[2]> -> <f32[8]>
    %3 = array.dot_general %1, %x contract [1] x [0] batch [] x [] : <f32[8, 8]>, <f32[8, 8]> -> <f32[8, 8]>
    %4 = array.tanh %c : <f32[2]>
    %t = spmd.all_reduce sum %4 over <a> : <f32[2]> -> <f32[2]>
    return %s, %2, %3, %0, %t : !spmd.array<f32[8]>, !spmd.array<f32[8]>, !spmd.array<f32[8, 8]>, !spmd.array<f32[8]>, !spmd.array<f32[2]>
  }
}

// -----

// Broadcasts from one root become one; from two roots they stay two.
// CHECK-LABEL: func.func @roots
// CHECK-SAME: %[[R:[a-z0-9]+]]: !spmd.array<i32[]>, %[[Q:[a-z0-9]+]]: !spmd.array<i32[]>)
// CHECK: %[[J:.*]] = array.concatenate
// CHECK: spmd.collective_broadcast %[[J]] from %[[R]] over <a> : <f32[1, 14]>, <i32[]> -> <f32[1, 14]>
// CHECK: spmd.collective_broadcast %{{.*}} from %[[Q]] over <a> : <f32[8]>, <i32[]> -> <f32[8]>
// CHECK-NOT: spmd.collective_broadcast
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @roots(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[2, 3]>, %r: !spmd.array<i32[]>, %q: !spmd.array<i32[]>)
      -> (!spmd.array<f32[8]>, !spmd.array<f32[2, 3]>, !spmd.array<f32[8]>) {
    %0 = spmd.collective_broadcast %x from %r over <a> : <f32[8]>, <i32[]> -> <f32[8]>
    %1 = spmd.collective_broadcast %y from %r over <a> : <f32[2, 3]>, <i32[]> -> <f32[2, 3]>
    %2 = spmd.collective_broadcast %x from %q over <a> : <f32[8]>, <i32[]> -> <f32[8]>
    return %0, %1, %2 : !spmd.array<f32[8]>, !spmd.array<f32[2, 3]>, !spmd.array<f32[8]>
  }
}
