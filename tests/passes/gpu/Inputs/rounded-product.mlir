// As jax.export writes jax.nn.gelu(lax.dot(x, w, preferred_element_type=float32)).astype(bfloat16).
module @jit_f {
  func.func public @main(%x: tensor<16x8xbf16>, %w: tensor<8x24xbf16>) -> tensor<16x24xbf16> {
    %z = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xbf16>, tensor<8x24xbf16>) -> tensor<16x24xf32>
    %0 = stablehlo.multiply %z, %z : tensor<16x24xf32>
    %1 = stablehlo.multiply %0, %z : tensor<16x24xf32>
    %cubic = stablehlo.constant dense<4.471500e-02> : tensor<16x24xf32>
    %2 = stablehlo.multiply %cubic, %1 : tensor<16x24xf32>
    %3 = stablehlo.add %z, %2 : tensor<16x24xf32>
    %scale = stablehlo.constant dense<0.797884583> : tensor<16x24xf32>
    %4 = stablehlo.multiply %scale, %3 : tensor<16x24xf32>
    %5 = stablehlo.tanh %4 : tensor<16x24xf32>
    %one = stablehlo.constant dense<1.0> : tensor<16x24xf32>
    %6 = stablehlo.add %one, %5 : tensor<16x24xf32>
    %half = stablehlo.constant dense<0.5> : tensor<16x24xf32>
    %7 = stablehlo.multiply %half, %6 : tensor<16x24xf32>
    %8 = stablehlo.multiply %z, %7 : tensor<16x24xf32>
    %9 = stablehlo.convert %8 : (tensor<16x24xf32>) -> tensor<16x24xbf16>
    return %9 : tensor<16x24xbf16>
  }
}
