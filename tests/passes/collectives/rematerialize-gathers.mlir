// RUN: spmd-opt %s --spmdc-rematerialize-gathers --split-input-file | FileCheck %s --check-prefix=KEPT
// RUN: spmd-opt %s --spmdc-rematerialize-gathers=free=1 --split-input-file | FileCheck %s --check-prefix=ONE
// RUN: spmd-opt %s --spmdc-rematerialize-gathers=free=1000000 --split-input-file | FileCheck %s --check-prefix=ALL
// RUN: spmd-opt %s --split-input-file --spmdc-rematerialize-gathers=free=1000000 --debug-only=rematerialize-gathers 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[rematerialize-gathers] {{.*}}the peak stays at 1280 bytes; wanted: -997696{{$}}
// TRACE: {{^}}[rematerialize-gathers] {{.*}}all_gather: not gathered again: it is used at the peak (dot_general){{$}}
// TRACE: {{^}}[rematerialize-gathers] {{.*}}all_gather: not gathered again: its operand, which must be kept instead, is as large{{$}}

// Two layers forward and backward. The peak is at the second product, where both weights are live. To save one byte, one
// weight is gathered again: the first, which is used again last. The second is used at the peak, and is not needed any
// more where the first is gathered again.
// KEPT-LABEL: func.func @layers
// KEPT-COUNT-2: spmd.all_gather
// KEPT-NOT: spmd.all_gather
// ONE-LABEL: func.func @layers
// ONE: %[[V:.*]] = spmd.all_gather %arg0 {{.*}} {why = "w"}
// ONE: %[[W:.*]] = spmd.all_gather %arg1
// ONE: array.dot_general %{{.*}}, %[[W]] contract [1] x [0]
// ONE: array.dot_general %{{.*}}, %[[W]] contract [1] x [1]
// ONE-NEXT: %[[AGAIN:.*]] = spmd.all_gather %arg0 {{.*}} {why = "w; gathered again, so that it need not be kept in memory until here"}
// ONE-NEXT: array.dot_general %{{.*}}, %[[AGAIN]] contract [1] x [1]
// ONE-NOT: spmd.all_gather
// ALL-LABEL: func.func @layers
// ALL-COUNT-3: spmd.all_gather
// ALL-NOT: spmd.all_gather
module attributes {spmd.mesh = #spmd.mesh<m, d=4>} {
  func.func @layers(%v: !spmd.array<f32[4, 16]>, %w: !spmd.array<f32[4, 16]>, %x: !spmd.array<f32[2, 16]>) -> !spmd.array<f32[2, 16]> {
    %0 = spmd.all_gather %v dim 0 over <d> {why = "w"} : <f32[4, 16]> -> <f32[16, 16]>
    %1 = array.dot_general %x, %0 contract [1] x [0] batch [] x [] : <f32[2, 16]>, <f32[16, 16]> -> <f32[2, 16]>
    %2 = spmd.all_gather %w dim 0 over <d> : <f32[4, 16]> -> <f32[16, 16]>
    %3 = array.dot_general %1, %2 contract [1] x [0] batch [] x [] : <f32[2, 16]>, <f32[16, 16]> -> <f32[2, 16]>
    %4 = array.dot_general %3, %2 contract [1] x [1] batch [] x [] : <f32[2, 16]>, <f32[16, 16]> -> <f32[2, 16]>
    %5 = array.dot_general %4, %0 contract [1] x [1] batch [] x [] : <f32[2, 16]>, <f32[16, 16]> -> <f32[2, 16]>
    return %5 : !spmd.array<f32[2, 16]>
  }
}

// -----

// An element-wise operation that is fused into its user needs its operands until then: the gathered array is live between
// %2 and the last product, although its only reader comes before.
// KEPT-LABEL: func.func @read_late
// ONE-LABEL: func.func @read_late
// ALL-LABEL: func.func @read_late
// ALL-COUNT-1: spmd.all_gather
// ALL-NOT: spmd.all_gather
module attributes {spmd.mesh = #spmd.mesh<m, d=4>} {
  func.func @read_late(%v: !spmd.array<f32[4, 16]>, %x: !spmd.array<f32[16, 16]>) -> !spmd.array<f32[16, 16]> {
    %0 = spmd.all_gather %v dim 0 over <d> : <f32[4, 16]> -> <f32[16, 16]>
    %1 = array.tanh %0 : <f32[16, 16]>
    %2 = array.dot_general %x, %x contract [1] x [0] batch [] x [] : <f32[16, 16]>, <f32[16, 16]> -> <f32[16, 16]>
    %3 = array.add %1, %2 : <f32[16, 16]>
    return %3 : !spmd.array<f32[16, 16]>
  }
}

// -----

// With the peak in the body of a loop, the array is gathered again in each iteration. An array that a loop reads from
// outside need not be kept over an earlier loop.
// ALL-LABEL: func.func @loops
// ALL: spmd.all_gather %arg0
// ALL: array.for
// ALL: spmd.all_gather %arg1
// ALL: spmd.all_gather %{{.*}} dim 0 over <d> {why = "; gathered again
// ALL: array.yield
// ALL: spmd.all_gather %arg0 {{.*}} {why = "; gathered again
// ALL-NEXT: array.for
// ALL-NOT: spmd.all_gather
module attributes {spmd.mesh = #spmd.mesh<m, d=4>} {
  func.func @loops(%v: !spmd.array<f32[4, 16]>, %w: !spmd.array<f32[4, 16]>, %x: !spmd.array<f32[2, 16]>) -> !spmd.array<f32[2, 16]> {
    %0 = spmd.all_gather %v dim 0 over <d> : <f32[4, 16]> -> <f32[16, 16]>
    %1 = array.dot_general %x, %0 contract [1] x [0] batch [] x [] : <f32[2, 16]>, <f32[16, 16]> -> <f32[2, 16]>
    %2 = array.for 0 to 3(%1) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[2, 16]>):
      %3 = spmd.all_gather %w dim 0 over <d> : <f32[4, 16]> -> <f32[16, 16]>
      %4 = array.dot_general %c, %3 contract [1] x [0] batch [] x [] : <f32[2, 16]>, <f32[16, 16]> -> <f32[2, 16]>
      %5 = array.dot_general %4, %4 contract [0] x [0] batch [] x [] : <f32[2, 16]>, <f32[2, 16]> -> <f32[16, 16]>
      %6 = array.dot_general %4, %5 contract [1] x [0] batch [] x [] : <f32[2, 16]>, <f32[16, 16]> -> <f32[2, 16]>
      %7 = array.dot_general %6, %3 contract [1] x [1] batch [] x [] : <f32[2, 16]>, <f32[16, 16]> -> <f32[2, 16]>
      array.yield %7 : !spmd.array<f32[2, 16]>
    } : (!spmd.array<f32[2, 16]>) -> !spmd.array<f32[2, 16]>
    %8 = array.for 0 to 3(%2) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[2, 16]>):
      %9 = array.dot_general %c, %0 contract [1] x [0] batch [] x [] : <f32[2, 16]>, <f32[16, 16]> -> <f32[2, 16]>
      array.yield %9 : !spmd.array<f32[2, 16]>
    } : (!spmd.array<f32[2, 16]>) -> !spmd.array<f32[2, 16]>
    return %8 : !spmd.array<f32[2, 16]>
  }
}

// -----

// A gathered array stays if it is not larger than its operand, an intermediate that would have to be kept instead.
// ALL-LABEL: func.func @no_gain
// ALL-COUNT-1: spmd.all_gather
// ALL-NOT: spmd.all_gather
module attributes {spmd.mesh = #spmd.mesh<m, d=1>} {
  func.func @no_gain(%x: !spmd.array<f32[16, 16]>) -> !spmd.array<f32[16, 16]> {
    %0 = array.dot_general %x, %x contract [1] x [0] batch [] x [] : <f32[16, 16]>, <f32[16, 16]> -> <f32[16, 16]>
    %1 = spmd.all_gather %0 dim 0 over <d> : <f32[16, 16]> -> <f32[16, 16]>
    %2 = array.dot_general %x, %1 contract [1] x [0] batch [] x [] : <f32[16, 16]>, <f32[16, 16]> -> <f32[16, 16]>
    %3 = array.dot_general %2, %x contract [1] x [0] batch [] x [] : <f32[16, 16]>, <f32[16, 16]> -> <f32[16, 16]>
    %4 = array.dot_general %3, %1 contract [1] x [0] batch [] x [] : <f32[16, 16]>, <f32[16, 16]> -> <f32[16, 16]>
    return %4 : !spmd.array<f32[16, 16]>
  }
}

// -----

// An array that a loop reads from outside is live during the whole loop. The peak is at the second product, so the array
// of the first is gathered in the loop. Then the peak is at the first product, and the other array's element-wise chain is
// computed in the loop, too.
// KEPT-LABEL: func.func @for_a_loop
// KEPT-COUNT-2: spmd.all_gather
// KEPT: array.for
// ONE-LABEL: func.func @for_a_loop
// ONE-NEXT: spmd.all_gather %arg0
// ONE-NEXT: %[[T:.*]] = array.tanh
// ONE-NEXT: array.for
// ONE: %[[W:.*]] = spmd.all_gather %arg1 dim 0 over <d> {why = "w; gathered in each iteration, so that it need not be kept in memory all the while"}
// ONE-NEXT: %[[C:.*]] = array.dot_general %{{.*}}, %[[W]]
// ONE-NEXT: array.dot_general %[[C]], %[[T]]
// ONE-NOT: spmd.all_gather
// ALL-LABEL: func.func @for_a_loop
// ALL-NEXT: array.for
// ALL: %[[W:.*]] = spmd.all_gather %arg1
// ALL-NEXT: %[[C:.*]] = array.dot_general %{{.*}}, %[[W]]
// ALL-NEXT: %[[V:.*]] = spmd.all_gather %arg0
// ALL-NEXT: %[[T:.*]] = array.tanh %[[V]]
// ALL-NEXT: array.dot_general %[[C]], %[[T]]
// ALL-NOT: spmd.all_gather
module attributes {spmd.mesh = #spmd.mesh<m, d=4>} {
  func.func @for_a_loop(%v: !spmd.array<f32[4, 16]>, %w: !spmd.array<f32[4, 16]>, %x: !spmd.array<f32[12, 16]>) -> !spmd.array<f32[12, 16]> {
    %0 = spmd.all_gather %v dim 0 over <d> : <f32[4, 16]> -> <f32[16, 16]>
    %1 = array.tanh %0 : <f32[16, 16]>
    %2 = spmd.all_gather %w dim 0 over <d> {why = "w"} : <f32[4, 16]> -> <f32[16, 16]>
    %3 = array.for 0 to 3(%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[12, 16]>):
      %4 = array.dot_general %c, %2 contract [1] x [0] batch [] x [] : <f32[12, 16]>, <f32[16, 16]> -> <f32[12, 16]>
      %5 = array.dot_general %4, %1 contract [1] x [0] batch [] x [] : <f32[12, 16]>, <f32[16, 16]> -> <f32[12, 16]>
      array.yield %5 : !spmd.array<f32[12, 16]>
    } : (!spmd.array<f32[12, 16]>) -> !spmd.array<f32[12, 16]>
    return %3 : !spmd.array<f32[12, 16]>
  }
}

// -----

// An array that is also read behind the loop, or in the condition of a loop, stays in front of it.
// ONE-LABEL: func.func @all_the_while
// ALL-LABEL: func.func @all_the_while
// ALL: spmd.all_gather
// ALL: spmd.all_gather
// ALL: array.while
// ALL-NOT: spmd.all_gather
module attributes {spmd.mesh = #spmd.mesh<m, d=4>} {
  func.func @all_the_while(%v: !spmd.array<f32[4, 16]>, %w: !spmd.array<f32[4, 16]>, %x: !spmd.array<f32[16, 16]>) -> (!spmd.array<f32[16, 16]>, !spmd.array<f32[16, 16]>) {
    %0 = spmd.all_gather %v dim 0 over <d> : <f32[4, 16]> -> <f32[16, 16]>
    %1 = spmd.all_gather %w dim 0 over <d> : <f32[4, 16]> -> <f32[16, 16]>
    %2 = array.while (%x) {
    ^bb0(%c: !spmd.array<f32[16, 16]>):
      %3 = array.dot_general %c, %1 contract [0, 1] x [0, 1] batch [] x [] : <f32[16, 16]>, <f32[16, 16]> -> <f32[]>
      %4 = array.constant dense<1.0> : tensor<f32> -> <f32[]>
      %5 = array.compare lt %3, %4 : <f32[]>, <f32[]> -> <bool[]>
      array.yield %5 : !spmd.array<bool[]>
    } do {
    ^bb0(%c: !spmd.array<f32[16, 16]>):
      %6 = array.dot_general %c, %1 contract [1] x [0] batch [] x [] : <f32[16, 16]>, <f32[16, 16]> -> <f32[16, 16]>
      %7 = array.dot_general %6, %0 contract [1] x [0] batch [] x [] : <f32[16, 16]>, <f32[16, 16]> -> <f32[16, 16]>
      %8 = array.dot_general %7, %7 contract [1] x [0] batch [] x [] : <f32[16, 16]>, <f32[16, 16]> -> <f32[16, 16]>
      array.yield %8 : !spmd.array<f32[16, 16]>
    } : (!spmd.array<f32[16, 16]>) -> !spmd.array<f32[16, 16]>
    %9 = array.dot_general %2, %0 contract [1] x [0] batch [] x [] : <f32[16, 16]>, <f32[16, 16]> -> <f32[16, 16]>
    return %9, %2 : !spmd.array<f32[16, 16]>, !spmd.array<f32[16, 16]>
  }
}
