// The remarks of propagation: one for each change, and one for each array that does not follow the others.
// RUN: spmd-opt %s --split-input-file --verify-diagnostics --spmdc-propagate=remarks

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @who_extends_whom(%x: !spmd.array<f32[8@a, 16@b]> {spmd.name = "x"}, %y: !spmd.array<f32[16@b, 4]> {spmd.name = "y"})
    -> !spmd.array<f32[8, 4]> {
  // expected-remark @+1 {{dot_general: dimension 0 of the result becomes sharded over a, as dimension 0 of operand 0 'x' is}}
  %0 = array.dot_general %x, %y contract [1] x [0] batch [] x [] : <f32[8@a, 16@b]>, <f32[16@b, 4]> -> <f32[8, 4]>
  // expected-remark @+1 {{sin: dimension 0 of the result becomes sharded over a, as dimension 0 of the operand is}}
  %1 = array.sin %0 : <f32[8, 4]>
  return %1 : !spmd.array<f32[8, 4]>
}
}

// -----

// Remarks come without an error, and none where nothing happens.
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @nothing_to_say(%x: !spmd.array<f32[8@a]>) -> !spmd.array<f32[8@a]> {
  %0 = array.sin %x : <f32[8@a]>
  return %0 : !spmd.array<f32[8@a]>
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @a_minor_dimension_is_merged(%x: !spmd.array<f32[8@_, 4@a]>) -> !spmd.array<f32[32]> {
  // expected-remark @+3 {{reshape: dimension 0 of the result becomes sharded over a, as dimension 1 of the operand is, whose shards would not be contiguous}}
  // expected-remark @+2 {{reshape: dimension 0 of the operand does not follow dimension 0 of the result over a: it is closed}}
  // expected-remark @+1 {{reshape: dimension 0 of the result does not follow dimension 1 of the operand over a: its dimension 0 uses a}}
  %0 = array.reshape %x : <f32[8@_, 4@a]> -> <f32[32]>
  return %0 : !spmd.array<f32[32]>
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @two_dimensions_want_one_axis(%x: !spmd.array<f32[8@a, 8@_]>, %y: !spmd.array<f32[8@_, 8@a]>)
    -> !spmd.array<f32[8, 8]> {
  // expected-remark @+4 {{add: dimension 0 of the result becomes sharded over a, as dimension 0 of operand 0 is}}
  // expected-remark @+3 {{add: dimension 0 of operand 1 does not follow dimension 0 of operand 0 over a: it is closed}}
  // expected-remark @+2 {{add: dimension 1 of operand 0 does not follow dimension 1 of operand 1 over a: it is closed}}
  // expected-remark @+1 {{add: dimension 1 of the result does not follow dimension 1 of operand 1 over a: its dimension 0 uses a}}
  %0 = array.add %x, %y : (<f32[8@a, 8@_]>, <f32[8@_, 8@a]>) -> <f32[8, 8]>
  return %0 : !spmd.array<f32[8, 8]>
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @one_dimension_over_two_axes(%x: !spmd.array<f32[8@a]>, %y: !spmd.array<f32[8@b]>) -> !spmd.array<f32[8]> {
  // expected-remark @+2 {{add: dimension 0 of the result becomes sharded over a, as dimension 0 of operand 0 is (the largest array where they differ)}}
  // expected-remark @+1 {{add: dimension 0 of operand 1 does not follow dimension 0 of operand 0 over a: it is sharded over b}}
  %0 = array.add %x, %y : (<f32[8@a]>, <f32[8@b]>) -> <f32[8]>
  return %0 : !spmd.array<f32[8]>
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @the_operation_needs_it_whole(%x: !spmd.array<f32[8@a]>) -> !spmd.array<i32[8]> {
  // expected-remark @+2 {{argsort: dimension 0 of the operand is sharded over a, but the operation needs it replicated}}
  // expected-remark @+1 {{argsort: dimension 0 of the result becomes sharded over a, as dimension 0 of the operand is, which the operation needs replicated}}
  %0 = array.argsort %x dim 0 descending = false : <f32[8@a]> -> <i32[8]>
  return %0 : !spmd.array<i32[8]>
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, c=3>} {
func.func @sizes_that_do_not_divide(%x: !spmd.array<f32[3, 5@a]>) -> !spmd.array<f32[15]> {
  // expected-remark @+1 {{reshape: dimension 0 of the result does not follow dimension 1 of the operand over a: its factor of 5 cannot be sharded evenly over a}}
  %0 = array.reshape %x : <f32[3, 5@a]> -> <f32[15]>
  return %0 : !spmd.array<f32[15]>
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, c=3>} {
func.func @strided_shards(%x: !spmd.array<f32[5@_, 4@a]>) -> !spmd.array<f32[20]> {
  // expected-remark @+1 {{reshape: dimension 0 of the result does not follow dimension 1 of the operand over a: its shards would not be contiguous}}
  %0 = array.reshape %x : <f32[5@_, 4@a]> -> <f32[20]>
  return %0 : !spmd.array<f32[20]>
}
}
