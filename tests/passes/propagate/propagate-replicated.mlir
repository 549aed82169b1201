// Axes that a constraint keeps from its open dimensions (Shardy's `replicated`): the value and the operation that computes
// it take other axes, and other values still take these.
// RUN: spmd-opt %s --spmdc-propagate | FileCheck %s
// RUN: spmd-opt %s --spmdc-propagate=strategy=basic | FileCheck %s
// RUN: spmd-opt %s --spmdc-propagate=strategy=aggressive | FileCheck %s

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {

// CHECK-LABEL: func.func @open
// CHECK: array.sin %arg0 {{.*}}: (<f32[8@a, 8@b]>) -> <f32[8@_, 8@b]>
// CHECK: array.exp %{{.*}} : <f32[8@_, 8@b]>
func.func @open(%x: !spmd.array<f32[8@a, 8@b]>) -> !spmd.array<f32[8, 8]> {
  %0 = array.sin %x : (<f32[8@a, 8@b]>) -> <f32[8, 8]>
  %1 = spmd.constraint %0 {spmd.replicated = #spmd.axes<a>} : <f32[8, 8]> -> <f32[8, 8]>
  %2 = array.exp %1 : <f32[8, 8]>
  return %2 : !spmd.array<f32[8, 8]>
}

// Without the list, the rows are sharded throughout.
// CHECK-LABEL: func.func @nothing_excluded
// CHECK: array.sin %arg0 {{.*}}: <f32[8@a, 8@b]>
// CHECK: array.exp %{{.*}} : <f32[8@a, 8@b]>
func.func @nothing_excluded(%x: !spmd.array<f32[8@a, 8@b]>) -> !spmd.array<f32[8, 8]> {
  %0 = array.sin %x : (<f32[8@a, 8@b]>) -> <f32[8, 8]>
  %1 = spmd.constraint %0 : <f32[8, 8]> -> <f32[8, 8]>
  %2 = array.exp %1 : <f32[8, 8]>
  return %2 : !spmd.array<f32[8, 8]>
}

// A dimension that has an axis keeps it.
// CHECK-LABEL: func.func @with_axes
// CHECK: array.sin %arg0 {{.*}}: <f32[8@a, 8@_]>
// CHECK: array.exp {{.*}}: (<f32[8@a, 8@_]>) -> <f32[8@a, 8@b]>
func.func @with_axes(%x: !spmd.array<f32[8@a, 8]>) -> !spmd.array<f32[8, 8@b]> {
  %0 = array.sin %x : (<f32[8@a, 8]>) -> <f32[8, 8]>
  %1 = spmd.constraint %0 {spmd.replicated = #spmd.axes<b>} : <f32[8, 8]> -> <f32[8@"a?", 8]>
  %2 = array.exp %1 : (<f32[8@"a?", 8]>) -> <f32[8, 8]>
  %3 = spmd.constraint %2 : <f32[8, 8]> -> <f32[8, 8@b]>
  return %3 : !spmd.array<f32[8, 8@b]>
}
}
