// Transforms are operations on arrays with both parts in the last dimension, one for each dimension.
// RUN: spmdc compile %s --emit=array | FileCheck %s
// RUN: spmdc compile %s --emit=plan | FileCheck %s --check-prefix=PLAN
// RUN: spmdc compile %s --fn rows --emit=array | FileCheck %s --check-prefix=ROWS
// RUN: spmdc compile %s --fn back --emit=array | FileCheck %s --check-prefix=BACK
// RUN: spmdc compile %s --fn planes --emit=plan | FileCheck %s --check-prefix=PLANES
// RUN: spmdc compile %s --fn turned --emit=plan | FileCheck %s --check-prefix=TURNED
// RUN: spmdc compile %s --fn prime --emit=array | FileCheck %s --check-prefix=PRIME
// RUN: spmdc inspect %s --fn sharded | FileCheck %s --check-prefix=SHARDED
// RUN: spmdc compile %s --target=cuda:sm_90a --emit=plan | FileCheck %s --check-prefix=GPU

// CHECK-LABEL: func.func @main
// CHECK: array.fft %{{.*}} dim 1 length 96 divisor 1 : <f32[3, 96, 2]> -> <f32[3, 96, 2]>
// The argument and the result have both parts in the last dimension already.
// PLAN: steps:
// PLAN-NEXT: fft %1 = (%0) sizes [3, 96, 1, 2, 2, 1]
// PLAN-NOT: launch
// A GPU has no such function.
// GPU: steps:
// GPU-NOT: fft
// GPU: matmul
func.func public @main(%x: tensor<3x96xcomplex<f32>>) -> tensor<3x96xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = FFT, length = [96] : (tensor<3x96xcomplex<f32>>) -> tensor<3x96xcomplex<f32>>
  return %0 : tensor<3x96xcomplex<f32>>
}

// Real rows have one part.
// ROWS: array.fft %{{.*}} dim 1 length 96 divisor 1 : <f32[3, 96, 1]> -> <f32[3, 49, 2]>
func.func public @rows(%x: tensor<3x96xf32>) -> tensor<3x49xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = RFFT, length = [96] : (tensor<3x96xf32>) -> tensor<3x49xcomplex<f32>>
  return %0 : tensor<3x49xcomplex<f32>>
}

// BACK: array.fft %{{.*}} dim 1 length 96 inverse divisor 96 : <f32[3, 49, 2]> -> <f32[3, 96, 1]>
func.func public @back(%x: tensor<3x49xcomplex<f32>>) -> tensor<3x96xf32> {
  %0 = stablehlo.fft %x, type = IRFFT, length = [96] : (tensor<3x49xcomplex<f32>>) -> tensor<3x96xf32>
  return %0 : tensor<3x96xf32>
}

// The dimension that is real on one side is the first one from there. Nothing is moved between.
// PLANES: steps:
// PLANES-NEXT: inverse_fft %{{.*}} sizes [3, 6, 5, 2, 2, 6]
// PLANES-NEXT: inverse_fft %{{.*}} sizes [18, 8, 1, 2, 1, 8]
// PLANES-NOT: launch
func.func public @planes(%x: tensor<3x6x5xcomplex<f64>>) -> tensor<3x6x8xf64> {
  %0 = stablehlo.fft %x, type = IRFFT, length = [6, 8] : (tensor<3x6x5xcomplex<f64>>) -> tensor<3x6x8xf64>
  return %0 : tensor<3x6x8xf64>
}

// Along another dimension, as JAX exports it.
// TURNED: steps:
// TURNED-NEXT: fft %1 = (%0) sizes [1, 6, 4, 2, 2, 1]
// TURNED-NOT: launch
func.func public @turned(%x: tensor<6x4xcomplex<f32>>) -> tensor<6x4xcomplex<f32>> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x4xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
  %1 = stablehlo.fft %0, type = FFT, length = [6] : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<4x6xcomplex<f32>>) -> tensor<6x4xcomplex<f32>>
  return %2 : tensor<6x4xcomplex<f32>>
}

// A large prime is a convolution of the next length with the primes 2, 3 and 5.
// PRIME: array.pad {{.*}} <f32[139]>, <f32[]> -> <f32[288]>
// PRIME: array.fft {{.*}} dim 0 length 288 divisor 1
// PRIME: array.fft {{.*}} dim 0 length 288 inverse divisor 288
// PRIME-NOT: array.fft
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
