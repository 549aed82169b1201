// RUN: spmd-opt %s --spmdc-verify-kernels --split-input-file --verify-diagnostics

// The stage's output: launches, collectives and control flow around kernels with schedules.
module attributes {spmd.mesh = #spmd.mesh<m, a=2>} {
  func.func @right(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
    %0 = plan.launch @exp(%x) : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
    %1 = spmd.all_reduce sum %0 over <a> : <f32[8]> -> <f32[8]>
    return %1 : !spmd.array<f32[8]>
  }
  plan.kernel @exp(%x: !spmd.array<f32[8]>) attributes {schedule = "rows [8]"} {
    %0 = array.exp %x : <f32[8]>
    plan.return %0 : !spmd.array<f32[8]>
  }
}

// -----

func.func @not_fused(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  // expected-error @+1 {{is in no kernel after the kernels stage}}
  %0 = array.exp %x : <f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// -----

func.func @missing(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  // expected-error @+1 {{names 'exp', which is not a kernel of the module}}
  %0 = plan.launch @exp(%x) : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
  return %0 : !spmd.array<f32[8]>
}

// -----

func.func @types(%x: !spmd.array<f32[4]>) -> !spmd.array<f32[4]> {
  // expected-error @+1 {{has other types than its kernel}}
  %0 = plan.launch @exp(%x) : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
  return %0 : !spmd.array<f32[4]>
}
// expected-note @+1 {{the kernel is here}}
plan.kernel @exp(%x: !spmd.array<f32[8]>) attributes {schedule = "rows [8]"} {
  %0 = array.exp %x : <f32[8]>
  plan.return %0 : !spmd.array<f32[8]>
}

// -----

// expected-error @+1 {{has no schedule after the kernels stage}}
plan.kernel @exp(%x: !spmd.array<f32[8]>) {
  %0 = array.exp %x : <f32[8]>
  plan.return %0 : !spmd.array<f32[8]>
}

// -----

func.func @right_epilogue(%x: !spmd.array<f32[8, 4]>, %y: !spmd.array<f32[4, 8]>, %z: !spmd.array<f32[8]>) -> !spmd.array<f32[8, 8]> {
  %0 = plan.matmul %x, %y epilogue @rows(%z : !spmd.array<f32[8]>) {batch = 1 : i64, k = 4 : i64, m = 8 : i64, n = 8 : i64, transposeLhs = false, transposeRhs = false} : <f32[8, 4]>, <f32[4, 8]> -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}
plan.kernel @rows(%p: !spmd.array<f32[8, 8]>, %z: !spmd.array<f32[8]>) attributes {rows = 8 : i64, schedule = "rows [8]"} {
  %0 = array.broadcast_in_dim %z dims [1] : <f32[8]> -> <f32[8, 8]>
  %1 = array.add %p, %0 : <f32[8, 8]>
  plan.return %1 : !spmd.array<f32[8, 8]>
}

// -----

// The sums of columns are complete when all rows of the product are.
func.func @columns(%x: !spmd.array<f32[8, 4]>, %y: !spmd.array<f32[4, 8]>) -> !spmd.array<f32[8, 8]> {
  // expected-error @+1 {{has an epilogue that does not rewrite each row in place}}
  %0 = plan.matmul %x, %y epilogue @columns_of {batch = 1 : i64, k = 4 : i64, m = 8 : i64, n = 8 : i64, transposeLhs = false, transposeRhs = false} : <f32[8, 4]>, <f32[4, 8]> -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}
// expected-note @+1 {{the kernel is here}}
plan.kernel @columns_of(%p: !spmd.array<f32[8, 8]>) attributes {rows = 8 : i64, schedule = "rows [8]"} {
  %0 = array.transpose %p perm [1, 0] : <f32[8, 8]> -> <f32[8, 8]>
  plan.return %0 : !spmd.array<f32[8, 8]>
}

// -----

// Sums of other data over the first dimension: a row of the kernel is a column of the square.
func.func @columns_of_a_square(%x: !spmd.array<f32[8, 4]>, %y: !spmd.array<f32[4, 8]>, %z: !spmd.array<f32[8, 8]>) -> !spmd.array<f32[8, 8]> {
  // expected-error @+1 {{has an epilogue that does not rewrite each row in place}}
  %0 = plan.matmul %x, %y epilogue @sums(%z : !spmd.array<f32[8, 8]>) {batch = 1 : i64, k = 4 : i64, m = 8 : i64, n = 8 : i64, transposeLhs = false, transposeRhs = false} : <f32[8, 4]>, <f32[4, 8]> -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}
// expected-note @+1 {{the kernel is here}}
plan.kernel @sums(%p: !spmd.array<f32[8, 8]>, %z: !spmd.array<f32[8, 8]>) attributes {rows = 8 : i64, schedule = "rows [8]"} {
  %0 = array.reduce sum %z dims [0] : <f32[8, 8]> -> <f32[8]>
  %1 = array.broadcast_in_dim %0 dims [1] : <f32[8]> -> <f32[8, 8]>
  %2 = array.multiply %p, %1 : <f32[8, 8]>
  plan.return %2 : !spmd.array<f32[8, 8]>
}

// -----

func.func @rows(%x: !spmd.array<f32[8, 4]>, %y: !spmd.array<f32[4, 8]>) -> !spmd.array<f32[8, 8]> {
  // expected-error @+1 {{has another number of rows than its epilogue}}
  %0 = plan.matmul %x, %y epilogue @exp {batch = 1 : i64, k = 4 : i64, m = 8 : i64, n = 8 : i64, transposeLhs = false, transposeRhs = false} : <f32[8, 4]>, <f32[4, 8]> -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}
// expected-note @+1 {{the kernel is here}}
plan.kernel @exp(%p: !spmd.array<f32[8, 8]>) attributes {rows = 4 : i64, schedule = "rows [4]"} {
  %0 = array.exp %p : <f32[8, 8]>
  plan.return %0 : !spmd.array<f32[8, 8]>
}

// -----

func.func @missing_epilogue(%x: !spmd.array<f32[8, 4]>, %y: !spmd.array<f32[4, 8]>) -> !spmd.array<f32[8, 8]> {
  // expected-error @+1 {{names 'exp', which is not a kernel of the module}}
  %0 = plan.matmul %x, %y epilogue @exp {batch = 1 : i64, k = 4 : i64, m = 8 : i64, n = 8 : i64, transposeLhs = false, transposeRhs = false} : <f32[8, 4]>, <f32[4, 8]> -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}
