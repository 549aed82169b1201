// RUN: spmd-opt %s --pass-pipeline="builtin.module(gpu.module(spmdc-narrow-arithmetic{has-instructions=true}))" | FileCheck %s
// RUN: spmd-opt %s --pass-pipeline="builtin.module(gpu.module(spmdc-narrow-arithmetic))" | FileCheck %s --check-prefix=OLD

// Kernels widen bf16 by moving its bits, and round by a conversion. Operations between the two become operations on bf16.
// (Equal values: passesGpuTests compares all operations with the reference evaluator, on sm_90.)
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @chain(%arg0: i16, %arg1: i16)
  // CHECK-DAG:     %[[X:.*]] = arith.bitcast %arg0 : i16 to bf16
  // CHECK-DAG:     %[[Y:.*]] = arith.bitcast %arg1 : i16 to bf16
  // CHECK:         %[[P:.*]] = arith.mulf %[[X]], %[[Y]] : bf16
  // CHECK:         %[[C:.*]] = arith.constant 5.000000e-01 : bf16
  // CHECK:         %[[S:.*]] = arith.subf %[[P]], %[[C]] : bf16
  // CHECK:         arith.bitcast %[[S]] : bf16 to i16
  gpu.func @chain(%a: i16, %b: i16) -> i16 {
    %c16 = arith.constant 16 : i32
    %half = arith.constant 0.5 : f32
    %0 = arith.extui %a : i16 to i32
    %1 = arith.shli %0, %c16 : i32
    %x = arith.bitcast %1 : i32 to f32
    %2 = arith.extui %b : i16 to i32
    %3 = arith.shli %2, %c16 : i32
    %y = arith.bitcast %3 : i32 to f32
    %product = arith.mulf %x, %y : f32
    %4 = arith.truncf %product : f32 to bf16
    %5 = arith.bitcast %4 : bf16 to i16
    %6 = arith.extui %5 : i16 to i32
    %7 = arith.shli %6, %c16 : i32
    %8 = arith.bitcast %7 : i32 to f32
    %difference = arith.subf %8, %half : f32
    %9 = arith.truncf %difference : f32 to bf16
    %10 = arith.bitcast %9 : bf16 to i16
    gpu.return %10 : i16
  }

  // An operand that is no bf16 value (f32, or a constant with more bits), and a sum that may be reordered, stay.
  // CHECK-LABEL: gpu.func @wide
  // CHECK-NOT:     : bf16{{$}}
  // CHECK:         gpu.return
  gpu.func @wide(%a: i16, %y: f32) -> (bf16, bf16, bf16, bf16) {
    %c16 = arith.constant 16 : i32
    %c15 = arith.constant 15 : i32
    %third = arith.constant 0.333333343 : f32
    %0 = arith.extui %a : i16 to i32
    %1 = arith.shli %0, %c16 : i32
    %x = arith.bitcast %1 : i32 to f32
    %2 = arith.shli %0, %c15 : i32
    %other = arith.bitcast %2 : i32 to f32
    %3 = arith.addf %x, %y : f32
    %4 = arith.truncf %3 : f32 to bf16
    %5 = arith.mulf %x, %third : f32
    %6 = arith.truncf %5 : f32 to bf16
    %7 = arith.addf %x, %x fastmath<reassoc> : f32
    %8 = arith.truncf %7 : f32 to bf16
    %9 = arith.addf %x, %other : f32
    %10 = arith.truncf %9 : f32 to bf16
    gpu.return %4, %6, %8, %10 : bf16, bf16, bf16, bf16
  }

  // A quotient of bf16 values needs no rounded division; one of an f32 does, and so does a quotient of f32. On chips
  // without instructions for bf16 sums stay f32.
  // CHECK-LABEL: gpu.func @quotients
  // CHECK:         %[[Q:.*]] = llvm.inline_asm "div.full.f32 $0, $1, $2;", "=f,f,f" %{{.*}}, %{{.*}} : (f32, f32) -> f32
  // CHECK:         arith.truncf %[[Q]] : f32 to bf16
  // CHECK:         arith.divf %{{.*}}, %arg1 : f32
  // CHECK:         arith.addf %{{.*}} : bf16
  // OLD-LABEL: gpu.func @quotients
  // OLD:         llvm.inline_asm "div.full.f32
  // OLD:         arith.divf %{{.*}}, %arg1 : f32
  // OLD:         arith.addf %{{.*}} : f32
  gpu.func @quotients(%a: i16, %y: f32) -> (bf16, bf16, bf16) {
    %c16 = arith.constant 16 : i32
    %one = arith.constant 1.0 : f32
    %0 = arith.extui %a : i16 to i32
    %1 = arith.shli %0, %c16 : i32
    %x = arith.bitcast %1 : i32 to f32
    %narrow = arith.divf %one, %x : f32
    %2 = arith.truncf %narrow : f32 to bf16
    %wide = arith.divf %x, %y : f32
    %3 = arith.truncf %wide : f32 to bf16
    %sum = arith.addf %x, %one : f32
    %4 = arith.truncf %sum : f32 to bf16
    gpu.return %2, %3, %4 : bf16, bf16, bf16
  }
}
