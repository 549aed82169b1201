// Devices exchange the bytes of narrow numbers, and each computes the numbers.
// RUN: spmdc inspect %s | FileCheck %s

// CHECK: collectives: 2
// CHECK: all_gather over a  u8[64, 256] -> u8[256, 256]
// CHECK-NEXT: the operation runs on bf16[256@_, 256@_], rematerialized from u8[256@_, 256@_]
// CHECK: all_gather over a  i8[64, 256] -> i8[256, 256]
// CHECK-NEXT: rematerialized from i8[256@_, 256@_]
sdy.mesh @mesh = <["a"=4]>
func.func public @main(%x: tensor<4096x256xf8E5M2> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
                       %y: tensor<4096x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
                       %w: tensor<256x256xf8E4M3FN> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
                       %v: tensor<256x256xi4> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<4096x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
        tensor<4096x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x256xf8E5M2>, tensor<256x256xf8E4M3FN>) -> tensor<4096x256xf32>
  %1 = stablehlo.convert %v : (tensor<256x256xi4>) -> tensor<256x256xbf16>
  %2 = stablehlo.dot_general %y, %1, contracting_dims = [1] x [0] : (tensor<4096x256xbf16>, tensor<256x256xbf16>) -> tensor<4096x256xf32>
  return %0, %2 : tensor<4096x256xf32>, tensor<4096x256xf32>
}
