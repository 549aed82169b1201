// RUN: spmd-opt %s --spmdc-propagate --spmdc-verify-propagated --split-input-file | FileCheck %s
// RUN: spmd-opt %s --spmdc-propagate=remarks --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A sharding over the automatic axis propagates into the region, minor to the manual axis, through the body, and out
// again. The axis need not divide the size: each shard of the manual axis is an array of its own.
// CHECK-LABEL: func.func @goes_through
// CHECK-SAME: (%[[X:.*]]: !spmd.array<f32[10@"(a, b)", 4@_]>)
// CHECK: spmd.manual(%[[X]]) over <a> {
// CHECK-NEXT: ^bb0(%[[P:.*]]: !spmd.array<f32[5@b, 4@_]>):
// CHECK-NEXT: array.sin %[[P]] : <f32[5@b, 4@_]>
// CHECK: } : (!spmd.array<f32[10@"(a, b)", 4@_]>) -> !spmd.array<f32[10@"(a, b)", 4@_]>
// REMARK: remark: shard_map: dimension 0 of the local array becomes sharded over b, as dimension 0 of the operand is
// REMARK: remark: shard_map: dimension 0 of the result becomes sharded over (a, b), as dimension 0 of the yielded value is
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=3>} {
  func.func @goes_through(%x: !spmd.array<f32[10@"(a, b)", 4@_]>) -> !spmd.array<f32[10@"a?", 4]> {
    %0 = spmd.constraint %x : <f32[10@"(a, b)", 4@_]> -> <f32[10@"a?", 4]>
    %1 = spmd.manual(%0) over <a> {
    ^bb0(%p: !spmd.array<f32[5, 4]>):
      %2 = array.sin %p : <f32[5, 4]>
      spmd.yield %2 : !spmd.array<f32[5, 4]>
    } : (!spmd.array<f32[10@"a?", 4]>) -> !spmd.array<f32[10@"a?", 4]>
    return %1 : !spmd.array<f32[10@"a?", 4]>
  }
}

// -----

// An operand that `in` keeps replicated stays so, even if the array is sharded elsewhere: it is gathered before the region.
// CHECK-LABEL: func.func @copies_over_the_manual_axis
// CHECK: %[[G:.*]] = spmd.reshard %{{.*}} {why = "the annotation asks for f32[8@_]"} : <f32[8@a]> -> <f32[8@_]>
// CHECK: spmd.manual(%[[G]]) over <a> {
// CHECK-NEXT: ^bb0(%{{.*}}: !spmd.array<f32[8@_]>):
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @copies_over_the_manual_axis(%x: !spmd.array<f32[8@a]>) -> !spmd.array<f32[8@a]> {
    %0 = spmd.constraint %x : <f32[8@a]> -> <f32[8]>
    %1 = spmd.manual(%0) over <a> {
    ^bb0(%p: !spmd.array<f32[8]>):
      spmd.yield %p : !spmd.array<f32[8]>
    } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
    %2 = array.sin %1 : <f32[8]>
    %3 = spmd.constraint %2 : <f32[8]> -> <f32[8@a]>
    return %3 : !spmd.array<f32[8@a]>
  }
}

// -----

// A dimension along which a collective of the region gathers or scatters takes no axis; the others do.
// CHECK-LABEL: func.func @collectives
// CHECK: spmd.all_gather %{{.*}} dim 0 over <a> : <f32[4@_, 6@b]> -> <f32[8@_, 6@b]>
// CHECK: spmd.reduce_scatter sum %{{.*}} dim 0 over <a> : <f32[8@_, 6@b]> -> <f32[4@_, 6@b]>
// CHECK: spmd.all_reduce sum %{{.*}} over <a> : <f32[4@_, 6@b]> -> <f32[4@_, 6@b]>
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
  func.func @collectives(%x: !spmd.array<f32[8@a, 6@b]>) -> !spmd.array<f32[4, 6]> {
    %0 = spmd.constraint %x : <f32[8@a, 6@b]> -> <f32[8@"a?", 6]>
    %1 = spmd.manual(%0) over <a> {
    ^bb0(%p: !spmd.array<f32[4, 6]>):
      %2 = spmd.all_gather %p dim 0 over <a> : <f32[4, 6]> -> <f32[8, 6]>
      %3 = spmd.reduce_scatter sum %2 dim 0 over <a> : <f32[8, 6]> -> <f32[4, 6]>
      %4 = spmd.all_reduce sum %3 over <a> : <f32[4, 6]> -> <f32[4, 6]>
      spmd.yield %4 : !spmd.array<f32[4, 6]>
    } : (!spmd.array<f32[8@"a?", 6]>) -> !spmd.array<f32[4, 6]>
    return %1 : !spmd.array<f32[4, 6]>
  }
}
