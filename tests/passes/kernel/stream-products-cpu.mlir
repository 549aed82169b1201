// RUN: spmd-opt %s --split-input-file --spmdc-stream-products="shared-bytes=0 least-score-bytes=32768" --debug-only=stream-products 2> %t.why | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.why --allow-empty

// On a CPU, features of any float and any number are streamed, also an odd one.
// CHECK-LABEL: func.func @softmax
// CHECK: plan.launch @attention_0
// CHECK-NOT: array.dot_general
// CHECK: plan.kernel @attention_0
// CHECK-SAME: streamed = "vector"
func.func @softmax(%q: !spmd.array<f32[100, 7]>, %k: !spmd.array<f32[90, 7]>, %v: !spmd.array<f32[90, 5]>) -> !spmd.array<f32[100, 5]> {
  %s = array.dot_general %q, %k contract [1] x [1] batch [] x [] : <f32[100, 7]>, <f32[90, 7]> -> <f32[100, 90]>
  %m = array.reduce max %s dims [1] : <f32[100, 90]> -> <f32[100]>
  %mb = array.broadcast_in_dim %m dims [0] : <f32[100]> -> <f32[100, 90]>
  %d = array.subtract %s, %mb : <f32[100, 90]>
  %e = array.exp %d : <f32[100, 90]>
  %l = array.reduce sum %e dims [1] : <f32[100, 90]> -> <f32[100]>
  %lb = array.broadcast_in_dim %l dims [0] : <f32[100]> -> <f32[100, 90]>
  %w = array.divide %e, %lb : <f32[100, 90]>
  %r = array.dot_general %w, %v contract [1] x [0] batch [] x [] : <f32[100, 90]>, <f32[90, 5]> -> <f32[100, 5]>
  return %r : !spmd.array<f32[100, 5]>
}

// -----

// Fewer scores stay in the cache between two products.
// CHECK-LABEL: func.func @small
// CHECK-NOT: plan.launch
// CHECK: return
func.func @small(%q: !spmd.array<f32[90, 7]>, %k: !spmd.array<f32[90, 7]>, %v: !spmd.array<f32[90, 5]>) -> !spmd.array<f32[90, 5]> {
  %s = array.dot_general %q, %k contract [1] x [1] batch [] x [] : <f32[90, 7]>, <f32[90, 7]> -> <f32[90, 90]>
  %e = array.tanh %s : <f32[90, 90]>
  %r = array.dot_general %e, %v contract [1] x [0] batch [] x [] : <f32[90, 90]>, <f32[90, 5]> -> <f32[90, 5]>
  return %r : !spmd.array<f32[90, 5]>
}

// -----

// JAX differentiates exponentials and their sums, which keep a dimension of size 1: the row sum of the gradient is still
// one of the product's result times its cotangent, which needs no scores, and the gradients are two kernels.
// CHECK-LABEL: func.func @gradient
// CHECK: plan.launch @attention_0
// CHECK: array.reduce sum %{{.*}} dims [1] : <f32[100, 8]> -> <f32[100]>
// CHECK: plan.launch @streamed_1
// CHECK: plan.launch @streamed_2
// CHECK-NOT: plan.launch
// CHECK: return
// CHECK-NOT: plan.kernel @streamed_3
// WHY-NOT: not streamed
func.func @gradient(%q: !spmd.array<f32[100, 8]>, %k: !spmd.array<f32[90, 8]>, %v: !spmd.array<f32[90, 8]>) -> (!spmd.array<f32[100, 8]>, !spmd.array<f32[90, 8]>, !spmd.array<f32[90, 8]>) {
  %one = array.constant dense<1.0> : tensor<100x1xf32> -> <f32[100, 1]>
  %s = array.dot_general %q, %k contract [1] x [1] batch [] x [] : <f32[100, 8]>, <f32[90, 8]> -> <f32[100, 90]>
  %m = array.reduce max %s dims [1] : <f32[100, 90]> -> <f32[100]>
  %m1 = array.broadcast_in_dim %m dims [0] : <f32[100]> -> <f32[100, 1]>
  %mb = array.broadcast_in_dim %m1 dims [0, 1] : <f32[100, 1]> -> <f32[100, 90]>
  %d = array.subtract %s, %mb : <f32[100, 90]>
  %e = array.exp %d : <f32[100, 90]>
  %l = array.reduce sum %e dims [1] : <f32[100, 90]> -> <f32[100]>
  %l1 = array.broadcast_in_dim %l dims [0] : <f32[100]> -> <f32[100, 1]>
  %lb = array.broadcast_in_dim %l1 dims [0, 1] : <f32[100, 1]> -> <f32[100, 90]>
  %w = array.divide %e, %lb : <f32[100, 90]>
  %square = array.multiply %l1, %l1 : <f32[100, 1]>
  %inverse = array.divide %one, %square : <f32[100, 1]>
  %r = array.dot_general %w, %v contract [1] x [0] batch [] x [] : <f32[100, 90]>, <f32[90, 8]> -> <f32[100, 8]>
  %dv = array.dot_general %w, %r contract [0] x [0] batch [] x [] : <f32[100, 90]>, <f32[100, 8]> -> <f32[90, 8]>
  %dp = array.dot_general %r, %v contract [1] x [1] batch [] x [] : <f32[100, 8]>, <f32[90, 8]> -> <f32[100, 90]>
  %ib = array.broadcast_in_dim %inverse dims [0, 1] : <f32[100, 1]> -> <f32[100, 90]>
  %scaled = array.multiply %dp, %ib : <f32[100, 90]>
  %product = array.multiply %scaled, %e : <f32[100, 90]>
  %sum = array.reduce sum %product dims [1] : <f32[100, 90]> -> <f32[100]>
  %negative = array.negate %sum : <f32[100]>
  %sb = array.broadcast_in_dim %negative dims [0] : <f32[100]> -> <f32[100, 90]>
  %quotient = array.divide %dp, %lb : <f32[100, 90]>
  %both = array.add %quotient, %sb : <f32[100, 90]>
  %ds = array.multiply %both, %e : <f32[100, 90]>
  %dq = array.dot_general %ds, %k contract [1] x [0] batch [] x [] : <f32[100, 90]>, <f32[90, 8]> -> <f32[100, 8]>
  %dk = array.dot_general %ds, %q contract [0] x [0] batch [] x [] : <f32[100, 90]>, <f32[100, 8]> -> <f32[90, 8]>
  return %dq, %dk, %dv : !spmd.array<f32[100, 8]>, !spmd.array<f32[90, 8]>, !spmd.array<f32[90, 8]>
}

// -----

// Two gradients of cross entropy multiply 256 features again for each score: scores in memory take less time.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: plan.launch
// CHECK: return
// WHY: dot_general: not streamed: the scores that its kernels multiply again take longer than scores in memory
func.func @wide(%h: !spmd.array<f32[128, 256]>, %w: !spmd.array<f32[256, 256]>) -> (!spmd.array<f32[128, 256]>, !spmd.array<f32[256, 256]>) {
  %s = array.dot_general %h, %w contract [1] x [1] batch [] x [] : <f32[128, 256]>, <f32[256, 256]> -> <f32[128, 256]>
  %m = array.reduce max %s dims [1] : <f32[128, 256]> -> <f32[128]>
  %mb = array.broadcast_in_dim %m dims [0] : <f32[128]> -> <f32[128, 256]>
  %d = array.subtract %s, %mb : <f32[128, 256]>
  %e = array.exp %d : <f32[128, 256]>
  %l = array.reduce sum %e dims [1] : <f32[128, 256]> -> <f32[128]>
  %lb = array.broadcast_in_dim %l dims [0] : <f32[128]> -> <f32[128, 256]>
  %p = array.divide %e, %lb : <f32[128, 256]>
  %one = array.constant dense<1.0> : tensor<128x256xf32> -> <f32[128, 256]>
  %c = array.subtract %p, %one : <f32[128, 256]>
  %dh = array.dot_general %c, %w contract [1] x [0] batch [] x [] : <f32[128, 256]>, <f32[256, 256]> -> <f32[128, 256]>
  %dw = array.dot_general %c, %h contract [0] x [0] batch [] x [] : <f32[128, 256]>, <f32[128, 256]> -> <f32[256, 256]>
  return %dh, %dw : !spmd.array<f32[128, 256]>, !spmd.array<f32[256, 256]>
}

// -----

// The factor and the mask are made before the loop that multiplies: the kernel makes them itself.
// CHECK-LABEL: func.func @loop
// CHECK: array.for
// CHECK: plan.launch @streamed_0
func.func @loop(%q: !spmd.array<f32[128, 8]>, %k: !spmd.array<f32[8, 128]>) -> !spmd.array<f32[128, 8]> {
  %t = array.transpose %k perm [1, 0] : <f32[8, 128]> -> <f32[128, 8]>
  %back = array.transpose %t perm [1, 0] : <f32[128, 8]> -> <f32[8, 128]>
  %zero = array.constant dense<0.0> : tensor<128x128xf32> -> <f32[128, 128]>
  %r = array.for 0 to 4 (%q) {
  ^bb0(%i: !spmd.array<i32[]>, %x: !spmd.array<f32[128, 8]>):
    %s = array.dot_general %x, %q contract [1] x [1] batch [] x [] : <f32[128, 8]>, <f32[128, 8]> -> <f32[128, 128]>
    %m = array.maximum %s, %zero : <f32[128, 128]>
    %y = array.dot_general %m, %q contract [1] x [0] batch [] x [] : <f32[128, 128]>, <f32[128, 8]> -> <f32[128, 8]>
    array.yield %y : !spmd.array<f32[128, 8]>
  } : (!spmd.array<f32[128, 8]>) -> !spmd.array<f32[128, 8]>
  return %r : !spmd.array<f32[128, 8]>
}
