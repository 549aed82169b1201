// RUN: spmd-opt %s --spmdc-share-kernels --split-input-file | FileCheck %s

// Kernels that differ only in names and locations: one remains. Another type, another attribute, another operation: another kernel.
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @exp_0(
// CHECK: plan.launch @exp_0(
// CHECK: plan.launch @exp_2(
// CHECK: plan.launch @rows_3(
// CHECK: plan.launch @log_4(
// CHECK: plan.matmul {{.*}} epilogue @add_5(
// CHECK: plan.matmul {{.*}} epilogue @add_5(
// CHECK: plan.kernel @exp_0
// CHECK-NOT: @exp_1
// CHECK-NOT: @add_6
// CHECK: plan.kernel @add_7
// CHECK: plan.kernel @add_8
module attributes {spmd.mesh = #spmd.mesh<m>} {
  func.func @main(%x: !spmd.array<f32[4, 4]>, %y: !spmd.array<f32[2, 4]>) {
    %0 = plan.launch @exp_0(%x) : (!spmd.array<f32[4, 4]>) -> !spmd.array<f32[4, 4]>
    %1 = plan.launch @exp_1(%0) : (!spmd.array<f32[4, 4]>) -> !spmd.array<f32[4, 4]>
    %2 = plan.launch @exp_2(%y) : (!spmd.array<f32[2, 4]>) -> !spmd.array<f32[2, 4]>
    %3 = plan.launch @rows_3(%0) : (!spmd.array<f32[4, 4]>) -> !spmd.array<f32[4, 4]>
    %4 = plan.launch @log_4(%0) : (!spmd.array<f32[4, 4]>) -> !spmd.array<f32[4, 4]>
    %5 = plan.matmul %x, %x epilogue @add_5(%x : !spmd.array<f32[4, 4]>) {batch = 1 : i64, k = 4 : i64, m = 4 : i64, n = 4 : i64, transposeLhs = false, transposeRhs = false} : !spmd.array<f32[4, 4]>, !spmd.array<f32[4, 4]> -> !spmd.array<f32[4, 4]>
    %6 = plan.matmul %x, %x epilogue @add_6(%x : !spmd.array<f32[4, 4]>) {batch = 1 : i64, k = 4 : i64, m = 4 : i64, n = 4 : i64, transposeLhs = false, transposeRhs = false} : !spmd.array<f32[4, 4]>, !spmd.array<f32[4, 4]> -> !spmd.array<f32[4, 4]>
    return
  }
  plan.kernel @exp_0(%a: !spmd.array<f32[4, 4]>) {
    %0 = array.exp %a : <f32[4, 4]>
    plan.return %0 : !spmd.array<f32[4, 4]>
  }
  plan.kernel @exp_1(%b: !spmd.array<f32[4, 4]>) {
    %other = array.exp %b : <f32[4, 4]>
    plan.return %other : !spmd.array<f32[4, 4]>
  }
  plan.kernel @exp_2(%a: !spmd.array<f32[2, 4]>) {
    %0 = array.exp %a : <f32[2, 4]>
    plan.return %0 : !spmd.array<f32[2, 4]>
  }
  plan.kernel @rows_3(%a: !spmd.array<f32[4, 4]>) attributes {grain = 2 : i64} {
    %0 = array.exp %a : <f32[4, 4]>
    plan.return %0 : !spmd.array<f32[4, 4]>
  }
  plan.kernel @log_4(%a: !spmd.array<f32[4, 4]>) {
    %0 = array.log %a : <f32[4, 4]>
    plan.return %0 : !spmd.array<f32[4, 4]>
  }
  plan.kernel @add_5(%a: !spmd.array<f32[4, 4]>, %b: !spmd.array<f32[4, 4]>) {
    %0 = array.add %a, %b : <f32[4, 4]>
    plan.return %0 : !spmd.array<f32[4, 4]>
  }
  plan.kernel @add_6(%a: !spmd.array<f32[4, 4]>, %b: !spmd.array<f32[4, 4]>) {
    %0 = array.add %a, %b : <f32[4, 4]>
    plan.return %0 : !spmd.array<f32[4, 4]>
  }
  // Exchanged operands: another kernel.
  plan.kernel @add_7(%a: !spmd.array<f32[4, 4]>, %b: !spmd.array<f32[4, 4]>) {
    %0 = array.subtract %b, %a : <f32[4, 4]>
    plan.return %0 : !spmd.array<f32[4, 4]>
  }
  plan.kernel @add_8(%a: !spmd.array<f32[4, 4]>, %b: !spmd.array<f32[4, 4]>) {
    %0 = array.subtract %a, %b : <f32[4, 4]>
    plan.return %0 : !spmd.array<f32[4, 4]>
  }
}
