// RUN: spmd-opt %s --spmdc-normalize-contractions --spmdc-form-kernels --split-input-file | FileCheck %s --check-prefixes=BOTH,CPU
// RUN: spmd-opt %s --spmdc-normalize-contractions --spmdc-form-kernels=gpu-shared-bytes=232448 --split-input-file | FileCheck %s --check-prefixes=BOTH,GPU

// A kernel before a product and one behind it read the same values, as an activation and its gradient do. A cheap value is
// computed in both kernels, which read its operand, and is not written to memory.

// BOTH-LABEL: func.func @cheap
// BOTH:         %[[B:.*]] = plan.launch @multiply_add_{{[0-9]+}}(%arg0) : (!spmd.array<f32[2048, 1024]>) -> !spmd.array<f32[2048, 1024]>
// BOTH-NEXT:    %[[P:.*]] = plan.matmul %[[B]]
// BOTH-SAME:    epilogue @multiply_{{[0-9]+}}(%arg0 :
func.func @cheap(%x: !spmd.array<f32[2048, 1024]>, %w: !spmd.array<f32[1024, 1024]>) -> !spmd.array<f32[2048, 1024]> {
  %a = array.multiply %x, %x : <f32[2048, 1024]>
  %b = array.add %a, %x : <f32[2048, 1024]>
  %p = array.dot_general %b, %w contract [1] x [0] batch [] x [] : <f32[2048, 1024]>, <f32[1024, 1024]> -> <f32[2048, 1024]>
  %r = array.multiply %p, %a : <f32[2048, 1024]>
  return %r : !spmd.array<f32[2048, 1024]>
}

// -----

// A CPU writes the exponential for the second kernel; on a GPU, where arithmetic costs little beside memory, both compute it.

// BOTH-LABEL: func.func @dear
// CPU:          plan.launch @exp_add_{{[0-9]+}}(%arg0) : (!spmd.array<f32[2048, 1024]>) -> (!spmd.array<f32[2048, 1024]>, !spmd.array<f32[2048, 1024]>)
// GPU:          plan.launch @exp_add_{{[0-9]+}}(%arg0) : (!spmd.array<f32[2048, 1024]>) -> !spmd.array<f32[2048, 1024]>
func.func @dear(%x: !spmd.array<f32[2048, 1024]>, %w: !spmd.array<f32[1024, 1024]>) -> !spmd.array<f32[2048, 1024]> {
  %a = array.exp %x : <f32[2048, 1024]>
  %b = array.add %a, %x : <f32[2048, 1024]>
  %p = array.dot_general %b, %w contract [1] x [0] batch [] x [] : <f32[2048, 1024]>, <f32[1024, 1024]> -> <f32[2048, 1024]>
  %r = array.multiply %p, %a : <f32[2048, 1024]>
  return %r : !spmd.array<f32[2048, 1024]>
}

// -----

// A sum that two kernels read is computed once, and written: computing it again would read the matrix again.

// BOTH-LABEL: func.func @sum
// BOTH:         %[[SUM:.*]]:2 = plan.launch @sum_add_{{[0-9]+}}(%arg0, %arg1) :
// BOTH:         plan.matmul %{{.*}} epilogue @add_{{[0-9]+}}(%[[SUM]]#0 : !spmd.array<f32[2048]>)
func.func @sum(%x: !spmd.array<f32[2048, 1024]>, %w: !spmd.array<f32[2048, 64]>) -> !spmd.array<f32[2048, 64]> {
  %s = array.reduce sum %x dims [1] : <f32[2048, 1024]> -> <f32[2048]>
  %t = array.broadcast_in_dim %s dims [0] : <f32[2048]> -> <f32[2048, 64]>
  %a = array.add %w, %t : <f32[2048, 64]>
  %p = array.dot_general %a, %w contract [0] x [0] batch [] x [] : <f32[2048, 64]>, <f32[2048, 64]> -> <f32[64, 64]>
  %q = array.dot_general %t, %p contract [1] x [0] batch [] x [] : <f32[2048, 64]>, <f32[64, 64]> -> <f32[2048, 64]>
  %r = array.add %q, %t : <f32[2048, 64]>
  return %r : !spmd.array<f32[2048, 64]>
}
