// RUN: spmd-opt %s --split-input-file --spmdc-stream-products=shared-bytes=232448 --debug-only=stream-products 2> %t.why | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.why

// Attention is one kernel, which returns no maximum and no sum: nothing else reads them.
// CHECK-LABEL: func.func @attention
// CHECK-NEXT: %[[R:.*]] = plan.launch @attention_0(%arg2, %arg0, %arg1) : ({{.*}}) -> !spmd.array<bf16[2, 64, 32]>
// CHECK-NEXT: return %[[R]]
// CHECK: plan.kernel @attention_0
// CHECK-SAME: streamed
// CHECK: array.dot_general
// CHECK: array.reduce max
// CHECK: array.reduce sum
// CHECK: %[[P:.*]] = array.dot_general
// CHECK-NEXT: plan.return %[[P]] : !spmd.array<bf16[2, 64, 32]>
func.func @attention(%q: !spmd.array<bf16[2, 64, 32]>, %k: !spmd.array<bf16[2, 48, 32]>, %v: !spmd.array<bf16[2, 48, 32]>) -> !spmd.array<bf16[2, 64, 32]> {
  %s = array.dot_general %q, %k contract [2] x [2] batch [0] x [0] : <bf16[2, 64, 32]>, <bf16[2, 48, 32]> -> <bf16[2, 64, 48]>
  %m = array.reduce max %s dims [2] : <bf16[2, 64, 48]> -> <bf16[2, 64]>
  %mb = array.broadcast_in_dim %m dims [0, 1] : <bf16[2, 64]> -> <bf16[2, 64, 48]>
  %d = array.subtract %s, %mb : <bf16[2, 64, 48]>
  %e = array.exp %d : <bf16[2, 64, 48]>
  %l = array.reduce sum %e dims [2] : <bf16[2, 64, 48]> -> <bf16[2, 64]>
  %lb = array.broadcast_in_dim %l dims [0, 1] : <bf16[2, 64]> -> <bf16[2, 64, 48]>
  %p = array.divide %e, %lb : <bf16[2, 64, 48]>
  %r = array.dot_general %p, %v contract [2] x [1] batch [0] x [0] : <bf16[2, 64, 48]>, <bf16[2, 48, 32]> -> <bf16[2, 64, 32]>
  return %r : !spmd.array<bf16[2, 64, 32]>
}

// -----

// Any function of the scores is streamed. Heads are read where a layer's products have them, without a transpose; the
// transpose of the result is a part of the kernel.
// CHECK-LABEL: func.func @heads
// CHECK-NEXT: %[[R:.*]] = plan.launch @streamed_0(%arg2, %arg0, %arg1) : (!spmd.array<bf16[64, 4, 16]>, !spmd.array<bf16[64, 4, 16]>, !spmd.array<bf16[64, 4, 16]>) -> !spmd.array<bf16[64, 4, 16]>
// CHECK-NEXT: return %[[R]]
// CHECK: plan.kernel @streamed_0
// CHECK-COUNT-3: array.transpose {{.*}} perm [1, 0, 2]
// CHECK: array.maximum
// CHECK: %[[P:.*]] = array.dot_general
// CHECK-NEXT: %[[T:.*]] = array.transpose %[[P]] perm [1, 0, 2]
// CHECK-NEXT: plan.return %[[T]]
func.func @heads(%q: !spmd.array<bf16[64, 4, 16]>, %k: !spmd.array<bf16[64, 4, 16]>, %v: !spmd.array<bf16[64, 4, 16]>) -> !spmd.array<bf16[64, 4, 16]> {
  %qt = array.transpose %q perm [1, 0, 2] : <bf16[64, 4, 16]> -> <bf16[4, 64, 16]>
  %kt = array.transpose %k perm [1, 0, 2] : <bf16[64, 4, 16]> -> <bf16[4, 64, 16]>
  %vt = array.transpose %v perm [1, 0, 2] : <bf16[64, 4, 16]> -> <bf16[4, 64, 16]>
  %zero = array.constant dense<0.0> : tensor<4x64x64xbf16> -> <bf16[4, 64, 64]>
  %s = array.dot_general %qt, %kt contract [2] x [2] batch [0] x [0] : <bf16[4, 64, 16]>, <bf16[4, 64, 16]> -> <bf16[4, 64, 64]>
  %w = array.maximum %s, %zero : <bf16[4, 64, 64]>
  %r = array.dot_general %w, %vt contract [2] x [1] batch [0] x [0] : <bf16[4, 64, 64]>, <bf16[4, 64, 16]> -> <bf16[4, 64, 16]>
  %t = array.transpose %r perm [1, 0, 2] : <bf16[4, 64, 16]> -> <bf16[64, 4, 16]>
  return %t : !spmd.array<bf16[64, 4, 16]>
}

// -----

// Scores that the program returns are in memory anyway.
// CHECK-LABEL: func.func @returned
// CHECK-NOT: plan.launch
// WHY: dot_general: not streamed: the scores are needed in memory (return)
func.func @returned(%q: !spmd.array<bf16[64, 16]>, %k: !spmd.array<bf16[64, 16]>, %v: !spmd.array<bf16[64, 16]>) -> (!spmd.array<bf16[64, 16]>, !spmd.array<bf16[64, 64]>) {
  %s = array.dot_general %q, %k contract [1] x [1] batch [] x [] : <bf16[64, 16]>, <bf16[64, 16]> -> <bf16[64, 64]>
  %w = array.tanh %s : <bf16[64, 64]>
  %r = array.dot_general %w, %v contract [1] x [0] batch [] x [] : <bf16[64, 64]>, <bf16[64, 16]> -> <bf16[64, 16]>
  return %r, %w : !spmd.array<bf16[64, 16]>, !spmd.array<bf16[64, 64]>
}

// -----

// Features that are not contiguous cannot be copied 16 bytes at a time, and f32 is not multiplied on matrix units.
// CHECK-LABEL: func.func @strided
// CHECK-NOT: plan.launch
// WHY: dot_general: not streamed: this operation has no form to stream (dot_general)
func.func @strided(%q: !spmd.array<bf16[16, 64]>, %k: !spmd.array<bf16[64, 16]>, %v: !spmd.array<bf16[64, 16]>, %x: !spmd.array<f32[64, 16]>) -> (!spmd.array<bf16[64, 16]>, !spmd.array<f32[64, 16]>) {
  %s = array.dot_general %q, %k contract [0] x [1] batch [] x [] : <bf16[16, 64]>, <bf16[64, 16]> -> <bf16[64, 64]>
  %w = array.tanh %s : <bf16[64, 64]>
  %r = array.dot_general %w, %v contract [1] x [0] batch [] x [] : <bf16[64, 64]>, <bf16[64, 16]> -> <bf16[64, 16]>
  %s2 = array.dot_general %x, %x contract [1] x [1] batch [] x [] : <f32[64, 16]>, <f32[64, 16]> -> <f32[64, 64]>
  %w2 = array.tanh %s2 : <f32[64, 64]>
  %r2 = array.dot_general %w2, %x contract [1] x [0] batch [] x [] : <f32[64, 64]>, <f32[64, 16]> -> <f32[64, 16]>
  return %r, %r2 : !spmd.array<bf16[64, 16]>, !spmd.array<f32[64, 16]>
}

// -----

// Prints keep their order, though the first one waits for a launch.
// CHECK-LABEL: func.func @printed
// CHECK: %[[R:.*]] = plan.launch @streamed_0
// CHECK: array.print ["product ", ""](%[[R]])
// CHECK: array.print ["values ", ""](%arg2)
func.func @printed(%q: !spmd.array<bf16[64, 16]>, %k: !spmd.array<bf16[64, 16]>, %v: !spmd.array<bf16[64, 16]>) {
  %s = array.dot_general %q, %k contract [1] x [1] batch [] x [] : <bf16[64, 16]>, <bf16[64, 16]> -> <bf16[64, 64]>
  %w = array.tanh %s : <bf16[64, 64]>
  %r = array.dot_general %w, %v contract [1] x [0] batch [] x [] : <bf16[64, 64]>, <bf16[64, 16]> -> <bf16[64, 16]>
  array.print ["product ", ""](%r) : !spmd.array<bf16[64, 16]>
  array.print ["values ", ""](%v) : !spmd.array<bf16[64, 16]>
  return
}

// -----

// A layer's product that contracts heads and features reads the result as it is: the kernel writes positions before heads.
// CHECK-LABEL: func.func @projected
// CHECK-NEXT: %[[R:.*]] = plan.launch @streamed_0({{.*}}) : {{.*}} -> !spmd.array<bf16[64, 4, 16]>
// CHECK-NEXT: %[[T:.*]] = array.transpose %[[R]] perm [1, 0, 2]
// CHECK-NEXT: array.dot_general %[[T]], %arg3 contract [0, 2] x [0, 1]
// CHECK: plan.kernel @streamed_0
func.func @projected(%q: !spmd.array<bf16[4, 64, 16]>, %k: !spmd.array<bf16[4, 64, 16]>, %v: !spmd.array<bf16[4, 64, 16]>, %w: !spmd.array<bf16[4, 16, 32]>) -> !spmd.array<bf16[64, 32]> {
  %s = array.dot_general %q, %k contract [2] x [2] batch [0] x [0] : <bf16[4, 64, 16]>, <bf16[4, 64, 16]> -> <bf16[4, 64, 64]>
  %p = array.tanh %s : <bf16[4, 64, 64]>
  %r = array.dot_general %p, %v contract [2] x [1] batch [0] x [0] : <bf16[4, 64, 64]>, <bf16[4, 64, 16]> -> <bf16[4, 64, 16]>
  %o = array.dot_general %r, %w contract [0, 2] x [0, 1] batch [] x [] : <bf16[4, 64, 16]>, <bf16[4, 16, 32]> -> <bf16[64, 32]>
  return %o : !spmd.array<bf16[64, 32]>
}
