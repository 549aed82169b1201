// The replacement of a value takes its names; no other value has them.
// RUN: spmd-opt %s --spmdc-simplify --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {

// CHECK-LABEL: func.func @computed_once_it_has_both_names
// CHECK: array.tanh {{.*}} loc("again"("a"("x.spmd":3:5)))
// CHECK-NOT: array.tanh
func.func @computed_once_it_has_both_names(%x: !spmd.array<f32[8]>) -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>) {
  %0 = array.tanh %x : <f32[8]> loc("a"("x.spmd":3:5))
  %1 = array.tanh %x : <f32[8]> loc("again"("x.spmd":4:5))
  return %0, %1 : !spmd.array<f32[8]>, !spmd.array<f32[8]>
}

// CHECK-LABEL: func.func @an_argument_takes_a_name
// CHECK-SAME: %arg0: !spmd.array<f32[8]> loc("same"(
// CHECK-NEXT: return
func.func @an_argument_takes_a_name(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8]> {
  %0 = array.transpose %x perm [0] : <f32[8]> -> <f32[8]> loc("same"("x.spmd":3:5))
  return %0 : !spmd.array<f32[8]>
}

// CHECK-LABEL: func.func @one_name_of_one_place_is_one
// CHECK: array.tanh {{.*}} loc("a"("x.spmd":3:5))
func.func @one_name_of_one_place_is_one(%x: !spmd.array<f32[8]>) -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>) {
  %0 = array.tanh %x : <f32[8]> loc("a"("x.spmd":3:5))
  %1 = array.tanh %x : <f32[8]> loc("a"("x.spmd":3:5))
  return %0, %1 : !spmd.array<f32[8]>, !spmd.array<f32[8]>
}

// Only the second result remains; it is the first one of the new loop.
// CHECK-LABEL: func.func @a_name_stays_with_its_result
// CHECK: } : (!spmd.array<bool[]>) -> !spmd.array<f32[8]> loc("second"(fused<"let">["x.spmd":3:5, "x.spmd":3:1]))
func.func @a_name_stays_with_its_result(%x: !spmd.array<f32[8]>, %p: !spmd.array<bool[]>) -> !spmd.array<f32[8]> {
  %0, %1 = array.if %p {
    %2 = array.sin %x : <f32[8]>
    array.yield %x, %2 : !spmd.array<f32[8]>, !spmd.array<f32[8]>
  } else {
    %2 = array.cos %x : <f32[8]>
    array.yield %2, %x : !spmd.array<f32[8]>, !spmd.array<f32[8]>
  } : (!spmd.array<bool[]>) -> (!spmd.array<f32[8]>, !spmd.array<f32[8]>) loc("second"(fused<"let1">["first"("x.spmd":3:5), "x.spmd":3:1]))
  return %1 : !spmd.array<f32[8]>
}
}
