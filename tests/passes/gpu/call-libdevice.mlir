// RUN: spmd-opt %s --pass-pipeline='builtin.module(gpu.module(spmdc-call-libdevice))' | FileCheck %s
// RUN: spmd-opt %s --pass-pipeline='builtin.module(gpu.module(spmdc-call-libdevice{approximates-tanh}))' \
// RUN:   | FileCheck %s --check-prefix=FAST

// Each function is declared once; the name of the float version ends in f.
// CHECK-LABEL: gpu.module @kernels
// CHECK-DAG: llvm.func @__nv_tanhf(f32) -> f32
// CHECK-DAG: llvm.func @__nv_tanh(f64) -> f64
// CHECK-DAG: llvm.func @__nv_powf(f32, f32) -> f32
// CHECK-DAG: llvm.func @__nv_fmodf(f32, f32) -> f32
// CHECK-DAG: llvm.func @__nv_rsqrtf(f32) -> f32
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @functions
  gpu.func @functions(%x: f32, %y: f64) {
    // CHECK: llvm.call @__nv_tanhf(%{{.*}}) : (f32) -> f32
    %0 = math.tanh %x : f32
    // CHECK: llvm.call @__nv_tanhf
    %1 = math.tanh %0 : f32
    // CHECK: llvm.call @__nv_tanh(%{{.*}}) : (f64) -> f64
    %2 = math.tanh %y : f64
    // CHECK: llvm.call @__nv_powf
    %3 = math.powf %0, %1 : f32
    // CHECK: llvm.call @__nv_fmodf
    %4 = arith.remf %3, %x : f32
    // CHECK: llvm.call @__nv_rsqrtf
    %5 = math.rsqrt %4 : f32
    gpu.return
  }

  // One instruction if only the bf16 is used.
  // FAST-LABEL: gpu.func @rounded
  // CHECK-LABEL: gpu.func @rounded
  gpu.func @rounded(%x: f32) {
    // FAST: llvm.inline_asm "tanh.approx.f32 $0, $1;"
    // CHECK: llvm.call @__nv_tanhf
    %0 = math.tanh %x : f32
    %1 = arith.truncf %0 : f32 to bf16
    // FAST: llvm.call @__nv_tanhf
    %2 = math.tanh %x : f32
    %3 = arith.truncf %2 : f32 to bf16
    %4 = math.exp %2 : f32
    gpu.return
  }

  // A division within a function need not be rounded to nearest.
  // CHECK-LABEL: gpu.func @quotients
  gpu.func @quotients(%x: f32, %y: f64) {
    // CHECK: llvm.inline_asm "div.full.f32 $0, $1, $2;", "=f,f,f" %arg0, %arg0 : (f32, f32) -> f32
    %0 = arith.divf %x, %x {spmd.functions_quotient} : f32
    // CHECK: arith.divf %{{.*}}, %{{.*}} : f32
    %1 = arith.divf %0, %x : f32
    // CHECK: arith.divf %{{.*}} : f64
    %2 = arith.divf %y, %y {spmd.functions_quotient} : f64
    gpu.return
  }

  // Operations with an instruction are kept.
  // CHECK-LABEL: gpu.func @instructions
  gpu.func @instructions(%x: f32) {
    // CHECK-NEXT: math.sqrt
    %0 = math.sqrt %x : f32
    // CHECK-NEXT: math.floor
    %1 = math.floor %0 : f32
    // CHECK-NEXT: math.fma
    %2 = math.fma %0, %1, %x : f32
    // CHECK-NEXT: arith.divf
    %3 = arith.divf %2, %x : f32
    // CHECK-NEXT: gpu.return
    gpu.return
  }
}
