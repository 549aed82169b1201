// Transforms are products with constant matrices.
// RUN: spmdc compile %s --emit=array | FileCheck %s
// RUN: spmdc compile %s --fn rows --emit=array | FileCheck %s --check-prefix=ROWS
// RUN: spmdc compile %s --fn back --emit=array | FileCheck %s --check-prefix=BACK
// RUN: spmdc compile %s --fn prime --emit=array | FileCheck %s --check-prefix=PRIME
// RUN: spmdc inspect %s --fn sharded | FileCheck %s --check-prefix=SHARDED

// 96 = 12 x 8. Both parts of 12 elements, 8 apart, give both parts of 12 frequencies; 96 constants follow; then 8.
// CHECK-LABEL: func.func @main
// CHECK: %[[STACKED:.*]] = array.concatenate {{.*}} dim 1 : !spmd.array<f32[3, 12, 8]>, !spmd.array<f32[3, 12, 8]>
// CHECK: array.dot_general %[[STACKED]], %{{.*}} -> <f32[3, 8, 24]>
// CHECK: array.multiply {{.*}} <f32[3, 8, 12]>
// CHECK: %[[LAST:.*]] = array.dot_general {{.*}} -> <f32[3, 12, 16]>
// CHECK: array.slice %[[LAST]] [0, 0, 0] to [3, 12, 8]
// CHECK: array.transpose {{.*}} perm [0, 2, 1] : <f32[3, 12, 8]> -> <f32[3, 8, 12]>
// CHECK: array.reshape {{.*}} -> <f32[3, 96]>
func.func public @main(%x: tensor<3x96xcomplex<f32>>) -> tensor<3x96xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = FFT, length = [96] : (tensor<3x96xcomplex<f32>>) -> tensor<3x96xcomplex<f32>>
  return %0 : tensor<3x96xcomplex<f32>>
}

// Of real rows, half: one part in, and 5 of 8 digits out, which are 60 frequencies, of which 49 are wanted.
// ROWS: array.dot_general {{.*}} <f32[3, 12, 8]>, <f32[12, 24]> -> <f32[3, 8, 24]>
// ROWS: array.dot_general {{.*}} <f32[16, 10]> -> <f32[3, 12, 10]>
// ROWS: array.slice {{.*}} [0, 0] to [3, 49] step [1, 1] : <f32[3, 60]> -> <f32[3, 49]>
func.func public @rows(%x: tensor<3x96xf32>) -> tensor<3x49xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = RFFT, length = [96] : (tensor<3x96xf32>) -> tensor<3x49xcomplex<f32>>
  return %0 : tensor<3x49xcomplex<f32>>
}

// Back to real numbers, half as well: 7 of 12 digits in, one part out.
// BACK: array.pad {{.*}} <f32[3, 49]>, <f32[]> -> <f32[3, 56]>
// BACK: array.dot_general {{.*}} <f32[3, 14, 8]>, <f32[14, 24]> -> <f32[3, 8, 24]>
// BACK: array.dot_general {{.*}} <f32[16, 8]> -> <f32[3, 12, 8]>
func.func public @back(%x: tensor<3x49xcomplex<f32>>) -> tensor<3x96xf32> {
  %0 = stablehlo.fft %x, type = IRFFT, length = [96] : (tensor<3x49xcomplex<f32>>) -> tensor<3x96xf32>
  return %0 : tensor<3x96xf32>
}

// A large prime is a convolution of 512 elements.
// PRIME: array.pad {{.*}} <f32[139]>, <f32[]> -> <f32[144]>
// PRIME-COUNT-4: array.dot_general
// PRIME-NOT: array.dot_general
func.func public @prime(%x: tensor<139xcomplex<f32>>) -> tensor<139xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = FFT, length = [139] : (tensor<139xcomplex<f32>>) -> tensor<139xcomplex<f32>>
  return %0 : tensor<139xcomplex<f32>>
}

// The dimension of rows keeps its sharding.
// SHARDED: param   z     c64[16, 96]  P(a, _)
// SHARDED: result  0     c64[16, 96]  P(a, _)
// SHARDED: collectives: 0
sdy.mesh @mesh = <["a"=4]>
func.func public @sharded(%z: tensor<16x96xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>} loc("z")) -> tensor<16x96xcomplex<f32>> {
  %0 = stablehlo.fft %z, type = FFT, length = [96] : (tensor<16x96xcomplex<f32>>) -> tensor<16x96xcomplex<f32>>
  return %0 : tensor<16x96xcomplex<f32>>
}
