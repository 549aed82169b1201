// RUN: spmd-opt %s --spmdc-insert-reshards --split-input-file | FileCheck %s
// RUN: spmd-opt %s --split-input-file --spmdc-insert-reshards --debug-only=strategy 2>&1 >/dev/null | FileCheck %s --check-prefix=TRACE
// TRACE: {{^}}[strategy] {{.*}}runs on {{.*}} and gives {{.*}} us, {{[0-9]+}} bytes{{$}}

// Both operands are sharded along the contracted dimension: partial sums, reduced once behind the product.
// CHECK-LABEL: func.func @contraction_over_a_sharded_dimension_leaves_partial_sums
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @contraction_over_a_sharded_dimension_leaves_partial_sums(
      %x: !spmd.array<f32[4096@a, 2048@b]>, %y: !spmd.array<f32[2048@b, 4096@_]>) -> !spmd.array<f32[4096@a, 4096@_]> {
    // CHECK: %[[P:.*]] = array.dot_general {{.*}} -> <f32[4096@a, 4096@_] unreduced(b)>
    // CHECK: spmd.reshard %[[P]] {{.*}}: <f32[4096@a, 4096@_] unreduced(b)> -> <f32[4096@a, 4096@_]>
    %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[4096@a, 2048@b]>, <f32[2048@b, 4096@_]> -> <f32[4096@a, 4096@_]>
    return %0 : !spmd.array<f32[4096@a, 4096@_]>
  }
}

// -----

// The shardings agree already: no reshard.
// CHECK-LABEL: func.func @elementwise_that_agrees_is_left_alone
module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
  func.func @elementwise_that_agrees_is_left_alone(%x: !spmd.array<f32[8@a]>) -> !spmd.array<f32[8@a]> {
    // CHECK-NOT: spmd.reshard
    // CHECK: return
    %0 = array.add %x, %x : <f32[8@a]>
    return %0 : !spmd.array<f32[8@a]>
  }
}

// -----

// A sharded result of partial sums: the reshard behind becomes a reduce_scatter.
// CHECK-LABEL: func.func @sharded_result_of_a_contraction
module attributes {spmd.mesh = #spmd.mesh<m, b=2>} {
  func.func @sharded_result_of_a_contraction(
      %x: !spmd.array<f32[1024@_, 8192@b]>, %y: !spmd.array<f32[8192@b, 1024@_]>) -> !spmd.array<f32[1024@b, 1024@_]> {
    // CHECK: spmd.reshard {{.*}}: <f32[1024@_, 1024@_] unreduced(b)> -> <f32[1024@b, 1024@_]>
    %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[1024@_, 8192@b]>, <f32[8192@b, 1024@_]> -> <f32[1024@b, 1024@_]>
    return %0 : !spmd.array<f32[1024@b, 1024@_]>
  }
}

// -----

// The reshard has a reason, in the words of the language.
// CHECK-LABEL: func.func @operand_lies_along_two_axes
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
  func.func @operand_lies_along_two_axes(%x: !spmd.array<f32[8@"(a, b)"]>) -> !spmd.array<f32[8@_]> {
    // CHECK: spmd.reshard %{{.*}} {why = "exp gives f32[8@(a, b)]; the result is f32[8@_]"}
    %0 = array.exp %x : (<f32[8@"(a, b)"]>) -> <f32[8@_]>
    return %0 : !spmd.array<f32[8@_]>
  }
}

// -----

// An axis that no sharding has on that dimension: sharding x's rows over `b` too costs nothing, and the product is resharded
// in shards of an eighth.
// CHECK-LABEL: func.func @axis_on_a_dimension_where_nobody_has_it
module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=4>} {
  func.func @axis_on_a_dimension_where_nobody_has_it(
      %x: !spmd.array<f32[4096@a, 4096@_]>, %y: !spmd.array<f32[4096@_, 4096@_]>)
      -> !spmd.array<f32[4096@_, 4096@"(a, b)"]> {
    // CHECK: spmd.reshard {{.*}} : <f32[4096@a, 4096@_]> -> <f32[4096@"(a, b)", 4096@_]>
    // CHECK: spmd.reshard {{.*}} : <f32[4096@"(a, b)", 4096@_]> -> <f32[4096@_, 4096@"(a, b)"]>
    %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[4096@a, 4096@_]>, <f32[4096@_, 4096@_]> -> <f32[4096@_, 4096@"(a, b)"]>
    return %0 : !spmd.array<f32[4096@_, 4096@"(a, b)"]>
  }
}
