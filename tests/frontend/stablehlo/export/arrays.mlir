// The comments name StableHLO's operations, by which the compiler would take this file for an export of JAX.
// RUN: grep -v '//' %s > %t.mlir
// RUN: spmdc compile %t.mlir --emit=stablehlo | FileCheck %s

// Movement, products, reductions and run-time indices.
// CHECK-LABEL: func.func @main
func.func @main(%x: !spmd.array<f32[8, 6]>, %y: !spmd.array<f32[6, 3]>, %h: !spmd.array<bf16[8, 6]>,
                %i: !spmd.array<i32[2, 3]>, %j: !spmd.array<i32[]>, %k: !spmd.array<i64[]>)
    -> (!spmd.array<f32[2, 3, 6]>, !spmd.array<f32[8, 6]>, !spmd.array<i32[8]>, !spmd.array<bf16[8]>,
        !spmd.array<f32[8, 6]>, !spmd.array<i32[8, 6]>, !spmd.array<f32[2, 6]>,
        !spmd.array<bool[104]>) {
  // A long constant of bools is written in bytes, which all versions of MLIR read alike.
  // CHECK: %[[BYTES:.*]] = stablehlo.constant dense<"0x00000000000000000101010101010101000000000000000001010101010101010000{{0*}}"> : tensor<104xui8>
  // CHECK: stablehlo.convert %[[BYTES]] : (tensor<104xui8>) -> tensor<104xi1>
  %bools = array.constant dense<"0x00FF00FF000000000000000000"> : tensor<104xi1> -> <bool[104]>
  // CHECK: stablehlo.slice %arg0 [0:8:2, 1:6] : (tensor<8x6xf32>) -> tensor<4x5xf32>
  %0 = array.slice %x [0, 1] to [8, 6] step [2, 1] : <f32[8, 6]> -> <f32[4, 5]>
  // CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  // CHECK: stablehlo.pad {{.*}}, %[[ZERO]], low = [2, 0], high = [2, 0], interior = [0, 0]
  %zero = array.constant dense<0.0> : tensor<f32> -> <f32[]>
  %1 = array.pad %0 with %zero low [2, 0] high [2, 0] interior [0, 0] : <f32[4, 5]>, <f32[]> -> <f32[8, 5]>
  // CHECK: stablehlo.slice
  // CHECK: stablehlo.concatenate {{.*}} dim = 1 : (tensor<8x5xf32>, tensor<8x1xf32>) -> tensor<8x6xf32>
  %2 = array.slice %x [0, 0] to [8, 1] step [1, 1] : <f32[8, 6]> -> <f32[8, 1]>
  %3 = array.concatenate %1, %2 dim 1 : !spmd.array<f32[8, 5]>, !spmd.array<f32[8, 1]> -> <f32[8, 6]>
  // Products of f32 are exact to f32 here.
  // CHECK: %[[PRODUCT:.*]] = stablehlo.dot_general %{{.*}}, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
  %4 = array.dot_general %3, %y contract [1] x [0] batch [] x [] : <f32[8, 6]>, <f32[6, 3]> -> <f32[8, 3]>
  // CHECK: %[[INNER:.*]] = stablehlo.dot_general %[[PRODUCT]], %arg1, contracting_dims = [1] x [1]
  // CHECK: stablehlo.add {{.*}}%[[INNER]]
  %5 = array.dot_general %4, %y contract [1] x [1] batch [] x [] : <f32[8, 3]>, <f32[6, 3]> -> <f32[8, 6]>
  %6 = array.add %3, %5 : <f32[8, 6]>
  // CHECK: stablehlo.reduce({{.*}}) across dimensions = [1] : (tensor<8x6xf32>, tensor<8x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
  // CHECK: compare GT
  // CHECK: compare NE
  %7 = array.arg_reduce %6 max=true dim 1 : <f32[8, 6]> -> <i32[8]>
  // Sums of bf16 are accumulated in f32.
  // CHECK: %[[WIDE:.*]] = stablehlo.convert %arg2 : (tensor<8x6xbf16>) -> tensor<8x6xf32>
  // CHECK: stablehlo.reduce(%[[WIDE]] init: {{.*}}) across dimensions = [1]
  // CHECK: stablehlo.add
  // CHECK: stablehlo.convert {{.*}} : (tensor<8xf32>) -> tensor<8xbf16>
  %8 = array.reduce sum %h dims [1] : <bf16[8, 6]> -> <bf16[8]>
  // CHECK: "stablehlo.reduce_window"
  // CHECK-SAME: padding = dense<{{\[\[}}0, 0], [0, 5]]>
  // CHECK-SAME: window_dimensions = array<i64: 1, 6>
  %9 = array.cumulative sum %6 dim 1 reversed : <f32[8, 6]> -> <f32[8, 6]>
  // CHECK: "stablehlo.gather"(%arg0, %arg3)
  // CHECK-SAME: #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>
  // CHECK-SAME: slice_sizes = array<i64: 1, 6>
  %10 = array.take %x, %i dim 0 : <f32[8, 6]>, <i32[2, 3]> -> <f32[2, 3, 6]>
  // CHECK: "stablehlo.scatter"
  // CHECK-SAME: #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>
  %11 = array.scatter_add %9, %i, %10 dim 0 : <f32[8, 6]>, <i32[2, 3]>, <f32[2, 3, 6]> -> <f32[8, 6]>
  // Descending, bits are compared.
  // CHECK: "stablehlo.sort"
  // CHECK-SAME: is_stable = true
  // CHECK: stablehlo.compare GT, {{.*}}, TOTALORDER
  %12 = array.argsort %6 dim 1 descending = true : <f32[8, 6]> -> <i32[8, 6]>
  // Starts have one type.
  // CHECK: %[[START:.*]] = stablehlo.convert %arg4 : (tensor<i32>) -> tensor<i64>
  // CHECK: stablehlo.dynamic_slice %arg0, %[[START]], %arg5, sizes = [2, 6]
  %13 = array.dynamic_slice %x at(%j, %k) sizes [2, 6] : (!spmd.array<f32[8, 6]>, !spmd.array<i32[]>, !spmd.array<i64[]>) -> !spmd.array<f32[2, 6]>
  return %10, %11, %7, %8, %9, %12, %13, %bools : !spmd.array<f32[2, 3, 6]>, !spmd.array<f32[8, 6]>, !spmd.array<i32[8]>, !spmd.array<bf16[8]>, !spmd.array<f32[8, 6]>, !spmd.array<i32[8, 6]>, !spmd.array<f32[2, 6]>, !spmd.array<bool[104]>
}
