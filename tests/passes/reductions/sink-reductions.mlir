// RUN: spmd-opt %s --spmdc-sink-reductions | FileCheck %s
// RUN: spmd-opt %s --spmdc-sink-reductions --debug-only=sink-reductions 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[sink-reductions] {{.*}}reshard: not sunk: that saves 10 us and takes 10 us; behind add{{$}}
// TRACE: {{^}}[sink-reductions] {{.*}}reshard: not sunk: the partial sum has another user (multiply){{$}}
// TRACE: {{^}}[sink-reductions] {{.*}}reshard: not sunk: the user of the partial sum is not linear (convert){{$}}
// TRACE: {{^}}[sink-reductions] {{.*}}reduce: not sunk: its operands have other shardings than the partial sums need; behind subtract{{$}}

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  // Two uses of one parameter: one reduction.
  // CHECK-LABEL: func.func @sum
  func.func @sum(%x: !spmd.array<f32[8@_, 4@a]>) -> !spmd.array<f32[8@_]> {
    // CHECK: %[[P:.*]] = array.reduce
    // CHECK: %[[Q:.*]] = array.reduce
    // CHECK: %[[S:.*]] = array.add %[[P]], %[[Q]] : <f32[8@_] unreduced(a)>
    // CHECK: %[[R:.*]] = spmd.reshard %[[S]] {why = "reduce sums; partial sums are added before they are reduced"} : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    // CHECK: return %[[R]]
    %p = array.reduce sum %x dims [1] : <f32[8@_, 4@a]> -> <f32[8@_] unreduced(a)>
    %pr = spmd.reshard %p {why = "reduce sums; the result is f32[8@_]"} : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %q = array.reduce sum %x dims [1] : <f32[8@_, 4@a]> -> <f32[8@_] unreduced(a)>
    %qr = spmd.reshard %q : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %s = array.add %pr, %qr : <f32[8@_]>
    return %s : !spmd.array<f32[8@_]>
  }

  // Tied weights: one of the two is transposed, scaled and negated; a third is added to both.
  // CHECK-LABEL: func.func @through_linear_operations
  func.func @through_linear_operations(%p: !spmd.array<f32[8@_, 4@_] unreduced(a)>, %q: !spmd.array<f32[4@_, 8@_] unreduced(a)>) -> !spmd.array<f32[8@_, 4@_]> {
    // CHECK: array.transpose %arg1 {{.*}} unreduced(a)
    // CHECK: array.multiply {{.*}} unreduced(a)
    // CHECK: array.negate {{.*}} unreduced(a)
    // CHECK: array.add {{.*}} unreduced(a)
    // CHECK: array.subtract {{.*}} unreduced(a)
    // CHECK-COUNT-1: spmd.reshard
    // CHECK-NOT: spmd.reshard
    // CHECK: return
    %f = array.constant dense<0.5> : tensor<8x4xf32> -> <f32[8@_, 4@_]>
    %pr = spmd.reshard %p : <f32[8@_, 4@_] unreduced(a)> -> <f32[8@_, 4@_]>
    %qr = spmd.reshard %q : <f32[4@_, 8@_] unreduced(a)> -> <f32[4@_, 8@_]>
    %t = array.transpose %qr perm [1, 0] : <f32[4@_, 8@_]> -> <f32[8@_, 4@_]>
    %m = array.multiply %t, %f : <f32[8@_, 4@_]>
    %n = array.negate %m : <f32[8@_, 4@_]>
    %s = array.add %pr, %n : <f32[8@_, 4@_]>
    %r = spmd.reshard %p : <f32[8@_, 4@_] unreduced(a)> -> <f32[8@_, 4@_]>
    %d = array.subtract %s, %r : <f32[8@_, 4@_]>
    return %d : !spmd.array<f32[8@_, 4@_]>
  }

  // A factor that may be infinite, or 0 below, makes NaN of zeros; one that is large makes infinities of numbers that
  // cancel each other; and bf16 does not hold all that f16 does.
  // CHECK-LABEL: func.func @what_is_not_linear
  func.func @what_is_not_linear(%p: !spmd.array<f32[8@_] unreduced(a)>, %q: !spmd.array<f32[8@_] unreduced(a)>, %f: !spmd.array<f32[8@_]>, %h: !spmd.array<f16[8@_] unreduced(a)>, %g: !spmd.array<bf16[8@_] unreduced(a)>) -> (!spmd.array<f32[8@_]>, !spmd.array<f32[8@_]>, !spmd.array<f32[8@_]>, !spmd.array<bf16[8@_]>) {
    // CHECK-COUNT-4: spmd.reshard
    // CHECK-NOT: unreduced(a)>,
    // CHECK: return
    %large = array.constant dense<1.0e30> : tensor<8xf32> -> <f32[8@_]>
    %pr = spmd.reshard %p : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %qr = spmd.reshard %q : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %hr = spmd.reshard %h : <f16[8@_] unreduced(a)> -> <f16[8@_]>
    %gr = spmd.reshard %g : <bf16[8@_] unreduced(a)> -> <bf16[8@_]>
    %m = array.multiply %pr, %f : <f32[8@_]>
    %0 = array.add %m, %qr : <f32[8@_]>
    %d = array.divide %pr, %f : <f32[8@_]>
    %1 = array.add %d, %qr : <f32[8@_]>
    %l = array.multiply %pr, %large : <f32[8@_]>
    %2 = array.add %l, %qr : <f32[8@_]>
    %c = array.convert %hr : <f16[8@_]> -> <bf16[8@_]>
    %3 = array.add %c, %gr : <bf16[8@_]>
    return %0, %1, %2, %3 : !spmd.array<f32[8@_]>, !spmd.array<f32[8@_]>, !spmd.array<f32[8@_]>, !spmd.array<bf16[8@_]>
  }

  // Both are scattered in the same way, so their sum is scattered.
  // CHECK-LABEL: func.func @scattered
  func.func @scattered(%p: !spmd.array<f32[8@_] unreduced(a)>, %q: !spmd.array<f32[8@_] unreduced(a)>) -> !spmd.array<f32[8@a]> {
    // CHECK: %[[S:.*]] = array.add %arg0, %arg1 : <f32[8@_] unreduced(a)>
    // CHECK: spmd.reshard %[[S]] {{.*}}<f32[8@_] unreduced(a)> -> <f32[8@a]>
    %pr = spmd.reshard %p : <f32[8@_] unreduced(a)> -> <f32[8@a]>
    %qr = spmd.reshard %q : <f32[8@_] unreduced(a)> -> <f32[8@a]>
    %s = array.add %pr, %qr : <f32[8@a]>
    return %s : !spmd.array<f32[8@a]>
  }

  // Iterations add scattered values: the carry becomes a partial sum of full rows, scattered once behind the loop.
  // CHECK-LABEL: func.func @scattered_in_a_loop
  func.func @scattered_in_a_loop(%p: !spmd.array<f32[4096@_] unreduced(a)>) -> !spmd.array<f32[4096@a]> {
    // CHECK: %[[Z:.*]] = array.constant {{.*}} -> <f32[4096@_] unreduced(a)>
    // CHECK: array.for 0 to 50(%[[Z]])
    // CHECK: %[[F:.*]] = array.constant dense<5.0{{.*}} -> <f32[4096@_]>
    // CHECK: array.multiply %arg0, %[[F]] : {{.*}} -> <f32[4096@_] unreduced(a)>
    // CHECK: array.add {{.*}} : <f32[4096@_] unreduced(a)>
    // CHECK: spmd.reshard {{.*}} : <f32[4096@_] unreduced(a)> -> <f32[4096@a]>
    // CHECK-NEXT: return
    %zero = array.constant dense<0.0> : tensor<4096xf32> -> <f32[4096@a]>
    %half = array.constant dense<0.5> : tensor<4096xf32> -> <f32[4096@a]>
    %r = array.for 0 to 50 (%zero) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[4096@a]>):
      %pr = spmd.reshard %p : <f32[4096@_] unreduced(a)> -> <f32[4096@a]>
      %h = array.multiply %pr, %half : <f32[4096@a]>
      %s = array.add %c, %h : <f32[4096@a]>
      array.yield %s : !spmd.array<f32[4096@a]>
    } : (!spmd.array<f32[4096@a]>) -> !spmd.array<f32[4096@a]>
    return %r : !spmd.array<f32[4096@a]>
  }

  // A sharded factor that is not a scalar would have to be gathered: the product stays scattered.
  // CHECK-LABEL: func.func @scattered_and_scaled_by_an_array
  func.func @scattered_and_scaled_by_an_array(%p: !spmd.array<f32[4096@_] unreduced(a)>, %f: !spmd.array<f32[4096@a]>) -> !spmd.array<f32[4096@a]> {
    // CHECK: array.for
    // CHECK: spmd.reshard %arg0
    // CHECK: array.yield
    // CHECK-NOT: spmd.reshard
    // CHECK: return
    %zero = array.constant dense<0.0> : tensor<4096xf32> -> <f32[4096@a]>
    %r = array.for 0 to 50 (%zero) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[4096@a]>):
      %pr = spmd.reshard %p : <f32[4096@_] unreduced(a)> -> <f32[4096@a]>
      %h = array.multiply %pr, %f : <f32[4096@a]>
      %s = array.add %c, %h : <f32[4096@a]>
      array.yield %s : !spmd.array<f32[4096@a]>
    } : (!spmd.array<f32[4096@a]>) -> !spmd.array<f32[4096@a]>
    return %r : !spmd.array<f32[4096@a]>
  }

  // Not sunk: values that are also used reduced, because nothing is gained; products of two sums, which are not linear; a
  // value that is broadcast, which is cheaper to reduce before.
  // CHECK-LABEL: func.func @left_alone
  func.func @left_alone(%p: !spmd.array<f32[8@_] unreduced(a)>, %q: !spmd.array<f32[8@_] unreduced(a)>, %l: !spmd.array<f32[2@_] unreduced(a)>) -> (!spmd.array<f32[8@_]>, !spmd.array<f32[8@_]>, !spmd.array<f32[8@_]>, !spmd.array<f32[100000@_, 2@_]>) {
    // CHECK-COUNT-4: spmd.reshard
    // CHECK: array.add %{{.*}} : <f32[8@_]>{{$}}
    // CHECK: array.multiply
    // CHECK: array.add
    // CHECK: return
    %pr = spmd.reshard %p : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %qr = spmd.reshard %q : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %lr = spmd.reshard %l : <f32[2@_] unreduced(a)> -> <f32[2@_]>
    %mr = spmd.reshard %l : <f32[2@_] unreduced(a)> -> <f32[2@_]>
    %s = array.add %pr, %qr : <f32[8@_]>
    %m = array.multiply %pr, %qr : <f32[8@_]>
    %lb = array.broadcast_in_dim %lr dims [1] : <f32[2@_]> -> <f32[100000@_, 2@_]>
    %mb = array.broadcast_in_dim %mr dims [1] : <f32[2@_]> -> <f32[100000@_, 2@_]>
    %w = array.add %lb, %mb : <f32[100000@_, 2@_]>
    return %pr, %s, %m, %w : !spmd.array<f32[8@_]>, !spmd.array<f32[8@_]>, !spmd.array<f32[8@_]>, !spmd.array<f32[100000@_, 2@_]>
  }

  // Iterations add partial sums, to single rows as well; each carry is reduced once behind the outer loop.
  // CHECK-LABEL: func.func @loops
  func.func @loops(%p: !spmd.array<f32[8@_] unreduced(a)>, %q: !spmd.array<f32[1@_, 8@_] unreduced(a)>) -> (!spmd.array<f32[8@_]>, !spmd.array<f32[5@_, 8@_]>) {
    // CHECK-NOT: spmd.reshard
    // CHECK: array.for 0 to 5
    // CHECK: array.for 0 to 3
    // CHECK: array.add {{.*}} unreduced(a)
    // CHECK: array.add {{.*}} unreduced(a)
    // CHECK: array.dynamic_update_slice {{.*}} unreduced(a)
    // CHECK: array.yield
    // CHECK-COUNT-2: spmd.reshard {{.*}}the partial sums of all iterations are added before they are reduced
    // CHECK-NOT: spmd.reshard
    // CHECK: return
    %zero = array.constant dense<0.0> : tensor<8xf32> -> <f32[8@_]>
    %rows = array.constant dense<0.0> : tensor<5x8xf32> -> <f32[5@_, 8@_]>
    %i0 = array.constant dense<0> : tensor<i32> -> <i32[]>
    %r:2 = array.for 0 to 5 (%zero, %rows) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8@_]>, %d: !spmd.array<f32[5@_, 8@_]>):
      %inner = array.for 0 to 3 (%zero) {
      ^bb0(%j: !spmd.array<i32[]>, %e: !spmd.array<f32[8@_]>):
        %pr = spmd.reshard %p {why = "x sums"} : <f32[8@_] unreduced(a)> -> <f32[8@_]>
        %s = array.add %e, %pr : <f32[8@_]>
        array.yield %s : !spmd.array<f32[8@_]>
      } : (!spmd.array<f32[8@_]>) -> !spmd.array<f32[8@_]>
      %t = array.add %c, %inner : <f32[8@_]>
      %old = array.dynamic_slice %d at(%i, %i0) sizes [1, 8] : (!spmd.array<f32[5@_, 8@_]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[1@_, 8@_]>
      %qr = spmd.reshard %q {why = "y sums"} : <f32[1@_, 8@_] unreduced(a)> -> <f32[1@_, 8@_]>
      %new = array.add %old, %qr : <f32[1@_, 8@_]>
      %u = array.dynamic_update_slice %d, %new at(%i, %i0) : (!spmd.array<f32[5@_, 8@_]>, !spmd.array<f32[1@_, 8@_]>, !spmd.array<i32[]>, !spmd.array<i32[]>) -> !spmd.array<f32[5@_, 8@_]>
      array.yield %t, %u : !spmd.array<f32[8@_]>, !spmd.array<f32[5@_, 8@_]>
    } : (!spmd.array<f32[8@_]>, !spmd.array<f32[5@_, 8@_]>) -> (!spmd.array<f32[8@_]>, !spmd.array<f32[5@_, 8@_]>)
    return %r#0, %r#1 : !spmd.array<f32[8@_]>, !spmd.array<f32[5@_, 8@_]>
  }

  // A carry that each iteration reads reduced is reduced in each iteration.
  // CHECK-LABEL: func.func @carry_that_is_read
  func.func @carry_that_is_read(%p: !spmd.array<f32[8@_] unreduced(a)>) -> !spmd.array<f32[8@_]> {
    // CHECK: array.for
    // CHECK: spmd.reshard
    // CHECK: array.yield
    // CHECK-NOT: spmd.reshard
    // CHECK: return
    %zero = array.constant dense<0.0> : tensor<8xf32> -> <f32[8@_]>
    %r = array.for 0 to 5 (%zero) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8@_]>):
      %pr = spmd.reshard %p : <f32[8@_] unreduced(a)> -> <f32[8@_]>
      %s = array.sin %c : (<f32[8@_]>) -> <f32[8@_]>
      %t = array.add %s, %pr : <f32[8@_]>
      array.yield %t : !spmd.array<f32[8@_]>
    } : (!spmd.array<f32[8@_]>) -> !spmd.array<f32[8@_]>
    return %r : !spmd.array<f32[8@_]>
  }

  // A value that is broadcast along a dimension sharded over the axis of the sum cannot be unreduced: it is reduced before.
  // (Where LLVM's assertions are on, as under the sanitizers, a type that says both ends the compiler.)
  // CHECK-LABEL: func.func @spread_along_the_axis_of_the_sum
  func.func @spread_along_the_axis_of_the_sum(%x: !spmd.array<f32[5@a]>) -> !spmd.array<f32[5@a]> {
    // CHECK: array.reduce sum %{{.*}} dims [0] : <f32[5@a]> -> <f32[] unreduced(a)>
    // CHECK-NEXT: spmd.reshard
    // CHECK-NEXT: array.broadcast_in_dim
    %0 = array.reduce sum %x dims [0] : <f32[5@a]> -> <f32[] unreduced(a)>
    %1 = spmd.reshard %0 {why = "sum"} : <f32[] unreduced(a)> -> <f32[]>
    %2 = array.broadcast_in_dim %1 dims [] : <f32[]> -> <f32[5@a]>
    %3 = array.subtract %x, %2 : <f32[5@a]>
    return %3 : !spmd.array<f32[5@a]>
  }

  // A sum or a slice leaves fewer elements, which are reduced behind it, directly to their final sharding.
  // CHECK-LABEL: func.func @what_is_left
  func.func @what_is_left(%p: !spmd.array<f32[16@_, 12@_] unreduced(b)>, %q: !spmd.array<f32[16@_, 12@_] unreduced(b)>) -> (!spmd.array<f32[12@_]>, !spmd.array<f32[4@_, 12@b]>) {
    // CHECK: %[[M:.*]] = array.multiply %arg0, %{{.*}} unreduced(b)
    // CHECK-NEXT: %[[S:.*]] = array.reduce sum %[[M]] dims [0] : <f32[16@_, 12@_] unreduced(b)> -> <f32[12@_] unreduced(b)>
    // CHECK-NEXT: %[[R:.*]] = spmd.reshard %[[S]] {why = "dot sums; only the remaining elements are reduced"}
    // CHECK-NEXT: %[[C:.*]] = array.slice %arg1 {{.*}} : <f32[16@_, 12@_] unreduced(b)> -> <f32[4@_, 12@_] unreduced(b)>
    // CHECK-NEXT: %[[T:.*]] = spmd.reshard %[[C]] {{.*}} : <f32[4@_, 12@_] unreduced(b)> -> <f32[4@_, 12@b]>
    // CHECK-NEXT: return %[[R]], %[[T]]
    %pf = array.constant dense<0.5> : tensor<16x12xf32> -> <f32[16@_, 12@_]>
    %pr = spmd.reshard %p {why = "dot sums; the result is f32[16, 12]"} : <f32[16@_, 12@_] unreduced(b)> -> <f32[16@_, 12@_]>
    %m = array.multiply %pr, %pf : <f32[16@_, 12@_]>
    %s = array.reduce sum %m dims [0] : <f32[16@_, 12@_]> -> <f32[12@_]>
    %qr = spmd.reshard %q : <f32[16@_, 12@_] unreduced(b)> -> <f32[16@_, 12@_]>
    %c = array.slice %qr [2, 0] to [6, 12] step [1, 1] : <f32[16@_, 12@_]> -> <f32[4@_, 12@_]>
    %t = spmd.reshard %c : <f32[4@_, 12@_]> -> <f32[4@_, 12@b]>
    return %s, %t : !spmd.array<f32[12@_]>, !spmd.array<f32[4@_, 12@b]>
  }

  // A sum along sharded dimensions, too: one reduction over both axes.
  // CHECK-LABEL: func.func @sum_along_what_was_scattered
  func.func @sum_along_what_was_scattered(%p: !spmd.array<f32[16@a, 12@_] unreduced(b)>) -> !spmd.array<f32[12@_]> {
    // CHECK-NEXT: %[[S:.*]] = array.reduce sum %arg0 dims [0] : <f32[16@a, 12@_] unreduced(b)> -> <f32[12@_] unreduced(a, b)>
    // CHECK-NEXT: spmd.reshard %[[S]] {why = "dot sums; only the remaining elements are reduced"} : <f32[12@_] unreduced(a, b)> -> <f32[12@_]>
    // CHECK-NEXT: return
    %r = spmd.reshard %p {why = "dot sums; the result is f32[16, 12]"} : <f32[16@a, 12@_] unreduced(b)> -> <f32[16@"(a, b)", 12@_]>
    %s = array.reduce sum %r dims [0] : <f32[16@"(a, b)", 12@_]> -> <f32[12@_] unreduced(a, b)>
    %t = spmd.reshard %s : <f32[12@_] unreduced(a, b)> -> <f32[12@_]>
    return %t : !spmd.array<f32[12@_]>
  }

  // Biases between partial sums become partial sums themselves: as full arrays, or, if the sums were scattered, as shards.
  // A value to which no partial sum is added does not change.
  // CHECK-LABEL: func.func @biases
  func.func @biases(%p: !spmd.array<f32[8@_] unreduced(a)>, %q: !spmd.array<f32[8@_] unreduced(a)>, %b: !spmd.array<f32[8@_]>, %c: !spmd.array<f32[8@a]>) -> (!spmd.array<f32[8@_]>, !spmd.array<f32[8@a]>) {
    // CHECK: %[[E:.*]] = array.add %arg2, %arg2 : <f32[8@_]>
    // CHECK: %[[B:.*]] = spmd.reshard %[[E]] : <f32[8@_]> -> <f32[8@_] unreduced(a)>
    // CHECK: %[[S:.*]] = array.add %arg0, %[[B]] : <f32[8@_] unreduced(a)>
    // CHECK: %[[T:.*]] = array.add %[[S]], %arg1 : <f32[8@_] unreduced(a)>
    // CHECK: %[[R:.*]] = spmd.reshard %[[T]] {{.*}} : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    // CHECK: %[[C:.*]] = spmd.reshard %arg3 : <f32[8@a]> -> <f32[8@_] unreduced(a)>
    // CHECK: %[[U:.*]] = array.subtract %[[C]], %arg0 : <f32[8@_] unreduced(a)>
    // CHECK: %[[V:.*]] = array.add %[[U]], %arg1 : <f32[8@_] unreduced(a)>
    // CHECK: %[[W:.*]] = spmd.reshard %[[V]] {{.*}} : <f32[8@_] unreduced(a)> -> <f32[8@a]>
    // CHECK: return %[[R]], %[[W]]
    %pr = spmd.reshard %p : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %qr = spmd.reshard %q : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %e = array.add %b, %b : <f32[8@_]>
    %s = array.add %pr, %e : <f32[8@_]>
    %t = array.add %s, %qr : <f32[8@_]>
    %ps = spmd.reshard %p : <f32[8@_] unreduced(a)> -> <f32[8@a]>
    %qs = spmd.reshard %q : <f32[8@_] unreduced(a)> -> <f32[8@a]>
    %u = array.subtract %c, %ps : <f32[8@a]>
    %v = array.add %u, %qs : <f32[8@a]>
    return %t, %v : !spmd.array<f32[8@_]>, !spmd.array<f32[8@a]>
  }

  // A loop with an initial value other than zero that adds a bias in each iteration.
  // CHECK-LABEL: func.func @loop_from_something
  func.func @loop_from_something(%p: !spmd.array<f32[8@_] unreduced(a)>, %x: !spmd.array<f32[8@_]>, %b: !spmd.array<f32[8@_]>) -> !spmd.array<f32[8@_]> {
    // CHECK: %[[X:.*]] = spmd.reshard %arg1 : <f32[8@_]> -> <f32[8@_] unreduced(a)>
    // CHECK: %[[L:.*]] = array.for 0 to 10(%[[X]])
    // CHECK: spmd.reshard %arg2 : <f32[8@_]> -> <f32[8@_] unreduced(a)>
    // CHECK-NOT: spmd.reshard
    // CHECK: spmd.reshard %[[L]] {{.*}} : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %0 = array.for 0 to 10(%x) {
    ^bb0(%i: !spmd.array<i32[]>, %s: !spmd.array<f32[8@_]>):
      %pr = spmd.reshard %p : <f32[8@_] unreduced(a)> -> <f32[8@_]>
      %t = array.add %pr, %b : <f32[8@_]>
      %u = array.add %s, %t : <f32[8@_]>
      array.yield %u : !spmd.array<f32[8@_]>
    } : (!spmd.array<f32[8@_]>) -> !spmd.array<f32[8@_]>
    return %0 : !spmd.array<f32[8@_]>
  }

  // One partial sum and a bias: sinking saves nothing.
  // CHECK-LABEL: func.func @one_and_a_bias
  func.func @one_and_a_bias(%p: !spmd.array<f32[8@_] unreduced(a)>, %b: !spmd.array<f32[8@_]>) -> !spmd.array<f32[8@_]> {
    // CHECK: %[[P:.*]] = spmd.reshard %arg0
    // CHECK: array.add %[[P]], %arg1 : <f32[8@_]>
    %pr = spmd.reshard %p : <f32[8@_] unreduced(a)> -> <f32[8@_]>
    %s = array.add %pr, %b : <f32[8@_]>
    return %s : !spmd.array<f32[8@_]>
  }

  // A maximum is not linear in sums; a value with other users is reduced for them.
  // CHECK-LABEL: func.func @nothing_less
  func.func @nothing_less(%p: !spmd.array<f32[16@_, 12@_] unreduced(b)>, %q: !spmd.array<f32[16@_, 12@_] unreduced(b)>) -> (!spmd.array<f32[12@_]>, !spmd.array<f32[12@_]>, !spmd.array<f32[16@_, 12@_]>) {
    // CHECK-COUNT-2: spmd.reshard
    // CHECK-NOT: spmd.reshard
    // CHECK: return
    %pr = spmd.reshard %p : <f32[16@_, 12@_] unreduced(b)> -> <f32[16@_, 12@_]>
    %s = array.reduce max %pr dims [0] : <f32[16@_, 12@_]> -> <f32[12@_]>
    %qr = spmd.reshard %q : <f32[16@_, 12@_] unreduced(b)> -> <f32[16@_, 12@_]>
    %t = array.reduce sum %qr dims [0] : <f32[16@_, 12@_]> -> <f32[12@_]>
    return %s, %t, %qr : !spmd.array<f32[12@_]>, !spmd.array<f32[12@_]>, !spmd.array<f32[16@_, 12@_]>
  }

  // An all_reduce of the user over another axis and the reduction behind it become one (spmdc-fold-collectives). If the
  // user scatters the sum, fewer elements are reduced.
  // CHECK-LABEL: func.func @written_sums
  func.func @written_sums(%p: !spmd.array<f32[32@a, 12@_, 6@b]>) -> (!spmd.array<f32[12@_, 8@_]>, !spmd.array<f32[8@a, 12@_]>) {
    // CHECK: %[[P:.*]] = array.reduce sum %{{.*}} dims [2] : <f32[8@_, 12@_, 6@b]> -> <f32[8@_, 12@_] unreduced(b)>
    // CHECK-NEXT: %[[Q:.*]] = array.reduce sum
    // CHECK-NEXT: %[[T:.*]] = array.transpose %[[P]] {{.*}} : <f32[8@_, 12@_] unreduced(b)> -> <f32[12@_, 8@_] unreduced(b)>
    // CHECK-NEXT: %[[S:.*]] = spmd.all_reduce sum %[[T]] over <a> : <f32[12@_, 8@_] unreduced(b)> -> <f32[12@_, 8@_] unreduced(b)>
    // CHECK-NEXT: %[[R:.*]] = spmd.reshard %[[S]] {{.*}} : <f32[12@_, 8@_] unreduced(b)> -> <f32[12@_, 8@_]>
    // CHECK-NEXT: %[[C:.*]] = spmd.reduce_scatter sum %[[Q]] dim 0 over <a> : <f32[8@_, 12@_] unreduced(b)> -> <f32[2@_, 12@_] unreduced(b)>
    // CHECK-NEXT: %[[D:.*]] = spmd.reshard %[[C]] {{.*}} : <f32[2@_, 12@_] unreduced(b)> -> <f32[2@_, 12@_]>
    // CHECK-NEXT: spmd.yield %[[R]], %[[D]]
    %0:2 = spmd.manual(%p) over <a> {
    ^bb0(%x: !spmd.array<f32[8@_, 12@_, 6@b]>):
      %q = array.reduce sum %x dims [2] : <f32[8@_, 12@_, 6@b]> -> <f32[8@_, 12@_] unreduced(b)>
      %r = spmd.reshard %q : <f32[8@_, 12@_] unreduced(b)> -> <f32[8@_, 12@_]>
      %k = array.reduce sum %x dims [2] : <f32[8@_, 12@_, 6@b]> -> <f32[8@_, 12@_] unreduced(b)>
      %l = spmd.reshard %k : <f32[8@_, 12@_] unreduced(b)> -> <f32[8@_, 12@_]>
      %u = array.transpose %r perm [1, 0] : <f32[8@_, 12@_]> -> <f32[12@_, 8@_]>
      %s = spmd.all_reduce sum %u over <a> : <f32[12@_, 8@_]> -> <f32[12@_, 8@_]>
      %t = spmd.reduce_scatter sum %l dim 0 over <a> : <f32[8@_, 12@_]> -> <f32[2@_, 12@_]>
      spmd.yield %s, %t : !spmd.array<f32[12@_, 8@_]>, !spmd.array<f32[2@_, 12@_]>
    } : (!spmd.array<f32[32@a, 12@_, 6@b]>) -> (!spmd.array<f32[12@_, 8@_]>, !spmd.array<f32[8@a, 12@_]>)
    return %0#0, %0#1 : !spmd.array<f32[12@_, 8@_]>, !spmd.array<f32[8@a, 12@_]>
  }
}
