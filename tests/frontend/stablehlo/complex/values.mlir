// Complex arrays are pairs of arrays; those of the signature are one array with both parts.
// RUN: spmdc compile %s --emit=array | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: !spmd.array<f32[4, 6, 2]> {spmd.format = "complex", spmd.name = "x"}
// CHECK-SAME: -> (!spmd.array<f32[6, 4, 2]> {spmd.format = "complex"{{.*}}}, !spmd.array<f32[4, 6]>
func.func public @main(%x: tensor<4x6xcomplex<f32>> loc("x"), %n: tensor<i32> loc("n")) -> (tensor<6x4xcomplex<f32>>, tensor<4x6xf32>, tensor<4x6xcomplex<f32>>) {
  // CHECK: %[[RE:.*]] = array.slice %[[X]] [0, 0, 0] to [4, 6, 1]
  // CHECK: array.reshape %[[RE]] : <f32[4, 6, 1]> -> <f32[4, 6]>
  // CHECK: %[[IM:.*]] = array.slice %[[X]] [0, 0, 1] to [4, 6, 2]
  // Movement happens to both parts.
  // CHECK-COUNT-2: array.transpose {{.*}} perm [1, 0]
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x6xcomplex<f32>>) -> tensor<6x4xcomplex<f32>>
  // Only the part that is used.
  // CHECK-NEXT: %[[REAL:.*]] = array.multiply
  %1 = stablehlo.real %x : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<4x6xf32>
  // A loop carries both parts.
  // CHECK: array.while{{.*}}
  %3:2 = stablehlo.while(%z = %x, %i = %n) : tensor<4x6xcomplex<f32>>, tensor<i32>
  cond {
    %c = stablehlo.constant dense<9> : tensor<i32>
    %p = stablehlo.compare LT, %i, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    // A product of elements is four products.
    // CHECK: do {
    // CHECK: %[[AC:.*]] = array.multiply
    // CHECK-NEXT: %[[BD:.*]] = array.multiply
    // CHECK-NEXT: array.subtract %[[AC]], %[[BD]]
    // CHECK-NEXT: %[[AD:.*]] = array.multiply
    // CHECK-NEXT: %[[BC:.*]] = array.multiply
    // CHECK-NEXT: array.add %[[AD]], %[[BC]]
    // CHECK: array.yield %{{.*}}, %{{.*}}, %{{.*}} : !spmd.array<f32[4, 6]>, !spmd.array<f32[4, 6]>, !spmd.array<i32[]>
    %w = stablehlo.multiply %z, %x : tensor<4x6xcomplex<f32>>
    %j = stablehlo.add %i, %i : tensor<i32>
    stablehlo.return %w, %j : tensor<4x6xcomplex<f32>>, tensor<i32>
  }
  // CHECK: array.concatenate {{.*}} dim 2 : !spmd.array<f32[6, 4, 1]>, !spmd.array<f32[6, 4, 1]> -> <f32[6, 4, 2]>
  // CHECK: array.concatenate {{.*}} dim 2 : !spmd.array<f32[4, 6, 1]>, !spmd.array<f32[4, 6, 1]> -> <f32[4, 6, 2]>
  return %0, %2, %3#0 : tensor<6x4xcomplex<f32>>, tensor<4x6xf32>, tensor<4x6xcomplex<f32>>
}
