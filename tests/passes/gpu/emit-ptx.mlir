// Element-wise work becomes a flat grid whose threads read and write 16 bytes at once; nothing is spilled.
// REQUIRES: ptxas
// RUN: spmdc compile %s --target=cuda:sm_90 --emit=ptx > %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: %ptxas -arch=sm_90 --warn-on-spills -v -o %t.cubin %t.ptx 2>&1 | FileCheck %s --check-prefix=PTXAS
// RUN: spmdc compile %s --target=cuda:sm_90 --emit=plan | FileCheck %s --check-prefix=PLAN
// RUN: spmdc compile %s --target=cuda:sm_70 --emit=ptx | FileCheck %s --check-prefix=OLD
// RUN: not spmdc compile %s --target=cuda:sm_10 --emit=ptx 2>&1 | FileCheck %s --check-prefix=CHIP

// CHECK: .version 8.0
// CHECK: .target sm_90
// CHECK: .entry
// CHECK: .maxntid 256
// CHECK-NEXT: .minnctapersm 2
// CHECK: ld.global{{.*}}.v4.f32
// CHECK: st.global.v4.f32
// PTXAS: 0 bytes spill stores, 0 bytes spill loads
// PLAN: , 256 blocks of 256 threads
// OLD: .version 6.3
// OLD: .target sm_70
// CHIP: error: unknown GPU architecture 'sm_10'
// CHIP: supported: sm_70

func.func @main(%x: !spmd.array<f32[512, 512]>, %y: !spmd.array<f32[512, 512]>) -> !spmd.array<f32[512, 512]> {
  %0 = array.multiply %x, %y : <f32[512, 512]>
  %1 = array.add %0, %x : <f32[512, 512]>
  return %1 : !spmd.array<f32[512, 512]>
}
