// RUN: spmd-opt %s --spmdc-normalize-contractions --spmdc-form-kernels --spmdc-schedule-kernels --split-input-file | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-form-kernels --debug-only=form-kernels 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[form-kernels] {{.*}}exp: not fused: with its user add, one kernel costs {{[0-9]+}}, separate ones {{[0-9]+}}{{$}}

// A softmax written out is one kernel; exp is computed once and kept for the division.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: %[[P:.*]] = plan.launch @[[K:.*]](%arg0)
// CHECK-NEXT: return %[[P]]
// CHECK: plan.kernel @[[K]]
// CHECK-SAME: extent = 64
// CHECK-SAME: schedule = "rows [64] lanes inner; domain [1000] reduce max; domain [1000] reduce sum keep exp; domain [1000] store 0"
func.func @softmax(%x: !spmd.array<f32[64, 1000]>) -> !spmd.array<f32[64, 1000]> {
  %m = array.reduce max %x dims [1] : <f32[64, 1000]> -> <f32[64]>
  %mb = array.broadcast_in_dim %m dims [0] : <f32[64]> -> <f32[64, 1000]>
  %s = array.subtract %x, %mb : <f32[64, 1000]>
  %e = array.exp %s : <f32[64, 1000]>
  %z = array.reduce sum %e dims [1] : <f32[64, 1000]> -> <f32[64]>
  %zb = array.broadcast_in_dim %z dims [0] : <f32[64]> -> <f32[64, 1000]>
  %p = array.divide %e, %zb : <f32[64, 1000]>
  return %p : !spmd.array<f32[64, 1000]>
}

// -----

// Along the first dimension rows are adjacent in memory.
// CHECK-LABEL: func.func @softmax_first
// CHECK: schedule = "rows [1000] lanes rows; domain [64] reduce max; domain [64] reduce sum keep exp; domain [64] store 0"
func.func @softmax_first(%x: !spmd.array<f32[64, 1000]>) -> !spmd.array<f32[64, 1000]> {
  %m = array.reduce max %x dims [0] : <f32[64, 1000]> -> <f32[1000]>
  %mb = array.broadcast_in_dim %m dims [1] : <f32[1000]> -> <f32[64, 1000]>
  %s = array.subtract %x, %mb : <f32[64, 1000]>
  %e = array.exp %s : <f32[64, 1000]>
  %z = array.reduce sum %e dims [0] : <f32[64, 1000]> -> <f32[1000]>
  %zb = array.broadcast_in_dim %z dims [1] : <f32[1000]> -> <f32[64, 1000]>
  %p = array.divide %e, %zb : <f32[64, 1000]>
  return %p : !spmd.array<f32[64, 1000]>
}

// -----

// Operations on the rows of a product become its epilogue, whose first input is the product.
// CHECK-LABEL: func.func @epilogue
// CHECK-NEXT: %[[R:.*]] = plan.matmul %arg0, %arg1 epilogue @[[K:.*]](%arg2 : !spmd.array<f32[32]>)
// CHECK-NEXT: return %[[R]]
// CHECK: plan.kernel @[[K]](%{{.*}}: !spmd.array<f32[64, 32]>, %{{.*}}: !spmd.array<f32[32]>)
// CHECK-SAME: extent = 64
// CHECK-SAME: rows = 64
func.func @epilogue(%x: !spmd.array<f32[64, 100]>, %w: !spmd.array<f32[100, 32]>, %b: !spmd.array<f32[32]>) -> !spmd.array<f32[64, 32]> {
  %d = array.dot_general %x, %w contract [1] x [0] batch [] x [] : <f32[64, 100]>, <f32[100, 32]> -> <f32[64, 32]>
  %bb = array.broadcast_in_dim %b dims [1] : <f32[32]> -> <f32[64, 32]>
  %db = array.add %bb, %d : <f32[64, 32]>
  %t = array.tanh %db : <f32[64, 32]>
  return %t : !spmd.array<f32[64, 32]>
}

// -----

// Nothing is fused across a collective.
// CHECK-LABEL: func.func @collective
// CHECK-NEXT: %[[S:.*]] = plan.launch @sum_0
// CHECK-NEXT: %[[T:.*]] = spmd.all_reduce sum %[[S]]
// CHECK-NEXT: %[[E:.*]] = plan.launch @exp_1(%[[T]])
// CHECK-NEXT: return %[[E]]
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @collective(%x: !spmd.array<f32[8, 100]>) -> !spmd.array<f32[8]> {
    %s = array.reduce sum %x dims [1] : <f32[8, 100]> -> <f32[8]>
    %t = spmd.all_reduce sum %s over <a> : <f32[8]> -> <f32[8]>
    %e = array.exp %t : <f32[8]>
    return %e : !spmd.array<f32[8]>
  }
}

// -----

// An expensive row computed before it is repeated along 4096 others is a separate kernel.
// CHECK-LABEL: func.func @no_repeated_work
// CHECK-NEXT: plan.launch @exp_0
// CHECK-NEXT: plan.launch @add_1
func.func @no_repeated_work(%x: !spmd.array<f32[4096, 4096]>, %r: !spmd.array<f32[4096]>) -> !spmd.array<f32[4096, 4096]> {
  %e = array.exp %r : <f32[4096]>
  %b = array.broadcast_in_dim %e dims [1] : <f32[4096]> -> <f32[4096, 4096]>
  %a = array.add %x, %b : <f32[4096, 4096]>
  return %a : !spmd.array<f32[4096, 4096]>
}

// -----

// A reshape before an operation outside kernels only renames memory.
// CHECK-LABEL: func.func @reshape
// CHECK-NEXT: %[[E:.*]] = plan.launch @exp_0
// CHECK-NEXT: %[[R:.*]] = array.reshape %[[E]]
// CHECK-NEXT: return %[[R]]
// CHECK: rows [256] lanes rows; domain [] store 0
func.func @reshape(%x: !spmd.array<f32[8, 32]>) -> !spmd.array<f32[256]> {
  %e = array.exp %x : <f32[8, 32]>
  %r = array.reshape %e : <f32[8, 32]> -> <f32[256]>
  return %r : !spmd.array<f32[256]>
}

// -----

// Mean and variance of one input: one kernel with two outputs.
// CHECK-LABEL: func.func @two_outputs
// CHECK-NEXT: %[[K:.*]]:2 = plan.launch
// CHECK-NEXT: return %[[K]]#0, %[[K]]#1
func.func @two_outputs(%x: !spmd.array<f32[512, 2000]>) -> (!spmd.array<f32[512]>, !spmd.array<f32[512]>) {
  %s = array.reduce sum %x dims [1] : <f32[512, 2000]> -> <f32[512]>
  %m = array.reduce max %x dims [1] : <f32[512, 2000]> -> <f32[512]>
  return %s, %m : !spmd.array<f32[512]>, !spmd.array<f32[512]>
}

// -----

// A transpose goes in tiles.
// CHECK-LABEL: func.func @transpose
// CHECK: extent = 7
// CHECK-SAME: rows [100, 300] lanes tiles over row 0; domain [] store 0
func.func @transpose(%x: !spmd.array<f32[300, 100]>) -> !spmd.array<f32[100, 300]> {
  %t = array.transpose %x perm [1, 0] : <f32[300, 100]> -> <f32[100, 300]>
  return %t : !spmd.array<f32[100, 300]>
}

// -----

// Sums over the rows of a square array belong to columns of the product: no part of its rows can wait for them.
// CHECK-LABEL: func.func @columnsOfASquare
// CHECK-NEXT: %[[P:.*]] = plan.matmul %arg0, %arg1 {
// CHECK-NEXT: plan.launch @{{.*}}(%arg2, %[[P]])
func.func @columnsOfASquare(%x: !spmd.array<f32[8, 8]>, %y: !spmd.array<f32[8, 8]>, %z: !spmd.array<f32[8, 8]>) -> !spmd.array<f32[8, 8]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8, 8]>, <f32[8, 8]> -> <f32[8, 8]>
  %1 = array.reduce sum %z dims [0] : <f32[8, 8]> -> <f32[8]>
  %2 = array.broadcast_in_dim %1 dims [1] : <f32[8]> -> <f32[8, 8]>
  %3 = array.multiply %0, %2 : <f32[8, 8]>
  return %3 : !spmd.array<f32[8, 8]>
}

// -----

// CHECK-LABEL: func.func @rowsOfASquare
// CHECK-NEXT: plan.matmul %arg0, %arg1 epilogue @{{.*}}(%arg2
func.func @rowsOfASquare(%x: !spmd.array<f32[8, 8]>, %y: !spmd.array<f32[8, 8]>, %z: !spmd.array<f32[8, 8]>) -> !spmd.array<f32[8, 8]> {
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8, 8]>, <f32[8, 8]> -> <f32[8, 8]>
  %1 = array.reduce sum %z dims [1] : <f32[8, 8]> -> <f32[8]>
  %2 = array.broadcast_in_dim %1 dims [0] : <f32[8]> -> <f32[8, 8]>
  %3 = array.multiply %0, %2 : <f32[8, 8]>
  return %3 : !spmd.array<f32[8, 8]>
}
