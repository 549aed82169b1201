// The names of a value survive the removal of the constraint that has them.
// RUN: spmd-opt %s --spmdc-propagate --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {

// CHECK-LABEL: func.func @the_name_goes_to_the_operation
// CHECK: array.sin {{.*}} loc("h"("sin.spmd":3:5))
func.func @the_name_goes_to_the_operation(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8@a]> {
  %0 = array.sin %x : <f32[8]> loc("sin.spmd":3:5)
  %1 = spmd.constraint %0 : <f32[8]> -> <f32[8@a]> loc("h"("let.spmd":3:1))
  return %1 : !spmd.array<f32[8@a]>
}

// CHECK-LABEL: func.func @a_name_of_its_own_stays
// CHECK: array.sin {{.*}} loc("h"("g"("sin.spmd":3:5)))
func.func @a_name_of_its_own_stays(%x: !spmd.array<f32[8]>) -> !spmd.array<f32[8@a]> {
  %0 = array.sin %x : <f32[8]> loc("g"("sin.spmd":3:5))
  %1 = spmd.constraint %0 : <f32[8]> -> <f32[8@a]> loc("h"("let.spmd":3:1))
  return %1 : !spmd.array<f32[8@a]>
}

// CHECK-LABEL: func.func @a_reshard_keeps_name_and_place
// CHECK: spmd.reshard {{.*}} loc("h"("let.spmd":3:1))
func.func @a_reshard_keeps_name_and_place(%x: !spmd.array<f32[8@b]>) -> !spmd.array<f32[8@a]> {
  %0 = spmd.constraint %x : <f32[8@b]> -> <f32[8@a]> loc("h"("let.spmd":3:1))
  return %0 : !spmd.array<f32[8@a]>
}
}
