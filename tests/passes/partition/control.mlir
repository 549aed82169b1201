// RUN: spmd-opt %s --spmdc-insert-reshards --spmdc-partition --spmdc-verify-partitioned --split-input-file | FileCheck %s

// The value that the body yields has another sharding than the carry: it is resharded in each iteration, and the initial
// value once. The reasons tell them apart.
// CHECK-LABEL: func.func @yields_are_resharded_in_the_body
// CHECK: spmd.all_to_all %arg0 {{.*}}why = "the initial value of the loop is f32[8@a, 4@_], the carry is f32[8@_, 4@a]"
// CHECK: array.for 0 to 3
// CHECK-NEXT: ^bb0(%{{.*}}: !spmd.array<i32[]>, %{{.*}}: !spmd.array<f32[8, 1]>):
// CHECK: spmd.all_to_all {{.*}}why = "the value that the loop body yields is f32[8@a, 4@_], the carry is f32[8@_, 4@a]"
// CHECK: array.yield %{{.*}} : !spmd.array<f32[8, 1]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @yields_are_resharded_in_the_body(%x: !spmd.array<f32[8@a, 4@_]>, %y: !spmd.array<f32[8@a, 4@_]>) -> !spmd.array<f32[8@_, 4@a]> {
    %0 = array.for 0 to 3 (%x) {
    ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8@_, 4@a]>):
      %1 = array.negate %y : <f32[8@a, 4@_]>
      array.yield %1 : !spmd.array<f32[8@a, 4@_]>
    } : (!spmd.array<f32[8@a, 4@_]>) -> !spmd.array<f32[8@_, 4@a]>
    return %0 : !spmd.array<f32[8@_, 4@a]>
  }
}

// -----

// A condition is the same on every device: its reduction is combined over the devices. The print knows the global
// type.
// CHECK-LABEL: func.func @conditions_are_replicated
// CHECK: array.while(%arg0)
// CHECK-NEXT: ^bb0(%[[C:.*]]: !spmd.array<bool[2]>):
// CHECK: %[[P:.*]] = array.reduce or %[[C]]
// CHECK: %[[ALL:.*]] = spmd.all_reduce or %[[P]] over <a> {why = "reduce reduces a dimension sharded over 'a': each device has a partial result; the condition of 'while' is the same on every device"}
// CHECK: array.yield %[[ALL]]
// CHECK: array.print ["x ", ""](%{{.*}}) global [!spmd.array<bool[8@a]>] : !spmd.array<bool[2]>
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @conditions_are_replicated(%x: !spmd.array<bool[8@a]>) -> !spmd.array<bool[8@a]> {
    %0 = array.while (%x) {
    ^bb0(%c: !spmd.array<bool[8@a]>):
      %1 = array.reduce or %c dims [0] : <bool[8@a]> -> <bool[]>
      array.yield %1 : !spmd.array<bool[]>
    } do {
    ^bb0(%c: !spmd.array<bool[8@a]>):
      %1 = array.not %c : <bool[8@a]>
      array.print ["x ", ""](%1) : !spmd.array<bool[8@a]>
      array.yield %1 : !spmd.array<bool[8@a]>
    } : (!spmd.array<bool[8@a]>) -> !spmd.array<bool[8@a]>
    return %0 : !spmd.array<bool[8@a]>
  }
}
