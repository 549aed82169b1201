// An error of a verifier that speaks of two values has a note where each of them is defined.
// RUN: spmd-opt %s --split-input-file --verify-diagnostics

func.func @shapes(%x: !spmd.array<f32[8, 4]>,
                  // expected-note @+1 {{operand 1 is defined here}}
                  %w: !spmd.array<f32[4, 3]>) {
  // expected-error @+1 {{operand 1 is f32[4, 3], the result f32[8, 4]; shapes must agree}}
  %0 = array.add %x, %w : (<f32[8, 4]>, <f32[4, 3]>) -> <f32[8, 4]>
  return
}

// -----

func.func @element_types(%x: !spmd.array<f32[8]>,
                         // expected-note @+1 {{operand 1 is defined here}}
                         %i: !spmd.array<i32[8]>) {
  // expected-error @+1 {{element types must agree}}
  %0 = array.add %x, %i : (<f32[8]>, <i32[8]>) -> <f32[8]>
  return
}

// -----

// A value that is used twice has one note.
// expected-note @+1 {{the array is defined here}}
func.func @pad_with_itself(%x: !spmd.array<f32[8]>) {
  // expected-error @+1 {{pads f32[8] with a scalar of its dtype, got f32[8]}}
  %0 = array.pad %x with %x low [0] high [0] interior [0] : <f32[8]>, <f32[8]> -> <f32[8]>
  return
}

// -----

// expected-note @+1 {{the first is defined here}}
func.func @compare(%x: !spmd.array<f32[8]>,
                   // expected-note @+1 {{the second is defined here}}
                   %i: !spmd.array<i32[8]>) {
  // expected-error @+1 {{requires one element type, got f32[8] and i32[8]}}
  %0 = array.compare lt %x, %i : <f32[8]>, <i32[8]> -> <bool[8]>
  return
}

// -----

// expected-note @+1 {{the first is defined here}}
func.func @concatenate(%x: !spmd.array<f32[8, 4]>,
                       // expected-note @+1 {{the second is defined here}}
                       %w: !spmd.array<f32[4, 3]>) {
  // expected-error @+1 {{cannot concatenate f32[8, 4] and f32[4, 3] along dimension 0}}
  %0 = array.concatenate %x, %w dim 0 : !spmd.array<f32[8, 4]>, !spmd.array<f32[4, 3]> -> <f32[12, 4]>
  return
}

// -----

// expected-note @+1 {{lhs is defined here}}
func.func @dot_general(%x: !spmd.array<f32[8, 4]>,
                       // expected-note @+1 {{rhs is defined here}}
                       %w: !spmd.array<f32[4, 3]>) {
  // expected-error @+1 {{dimension 0 of f32[8, 4] and dimension 0 of f32[4, 3] differ in size}}
  %0 = array.dot_general %x, %w contract [0] x [0] batch [] x [] : <f32[8, 4]>, <f32[4, 3]> -> <f32[4, 3]>
  return
}

// -----

// expected-note @+1 {{lhs is defined here}}
func.func @dot_general_types(%x: !spmd.array<f32[8]>,
                             // expected-note @+1 {{rhs is defined here}}
                             %y: !spmd.array<f64[8]>) {
  // expected-error @+1 {{element types differ: f32[8] and f64[8]}}
  %0 = array.dot_general %x, %y contract [0] x [0] batch [] x [] : <f32[8]>, <f64[8]> -> <f32[]>
  return
}

// -----

// expected-note @+1 {{the first is defined here}}
func.func @einsum_sizes(%x: !spmd.array<f32[8, 4]>,
                        // expected-note @+1 {{the second is defined here}}
                        %w: !spmd.array<f32[4, 3]>) {
  // expected-error @+1 {{dimensions with the label 1 differ in size: 4 and 3 in f32[4, 3]}}
  %0 = array.einsum %x, %w labels [[0, 1], [2, 1]] -> [0, 2] : !spmd.array<f32[8, 4]>, !spmd.array<f32[4, 3]> -> <f32[8, 4]>
  return
}

// -----

func.func @einsum_types(%x: !spmd.array<f32[8]>,
                        // expected-note @+1 {{operand 1 is defined here}}
                        %i: !spmd.array<i32[8]>) {
  // expected-error @+1 {{element types differ: i32[8] and f32[]}}
  %0 = array.einsum %x, %i labels [[0], [0]] -> [] : !spmd.array<f32[8]>, !spmd.array<i32[8]> -> <f32[]>
  return
}

// -----

func.func @carry(%x: !spmd.array<f32[8]>) {
  // expected-error @+1 {{the body's yield: value 0 is i32[], the result f32[8]}}
  %0 = array.for 0 to 4 (%x) {
  // expected-note @+1 {{value 0 is defined here}}
  ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8]>):
    array.yield %i : !spmd.array<i32[]>
  } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
  return
}

// -----

// expected-note @+1 {{the yielded value is defined here}}
func.func @checkpoint(%x: !spmd.array<f32[8]>) {
  // expected-error @+1 {{result 0 is f32[], but f32[8] is yielded}}
  %0 = array.checkpoint {
    array.yield %x : !spmd.array<f32[8]>
  } : !spmd.array<f32[]>
  return
}

// -----

// expected-note @+1 {{the operand is defined here}}
func.func @gradient(%x: !spmd.array<f32[8]>, %s: !spmd.array<f32[]>) {
  // expected-error @+1 {{operand 0 is f32[8], its argument or gradient f32[]}}
  %0:2 = array.gradient(%x) {
  ^bb0(%a: !spmd.array<f32[8]>):
    array.yield %s : !spmd.array<f32[]>
  } : (!spmd.array<f32[8]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)
  return
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
func.func @manual_inside(%x: !spmd.array<f32[8@a]>) {
  // expected-note @+1 {{the region around it is here}}
  %0 = spmd.manual(%x) over <a> {
  ^bb0(%p: !spmd.array<f32[4]>):
    // expected-error @+1 {{is over axis 'a', which is already manual in the region around it}}
    %1 = spmd.manual(%p) over <a> {
    ^bb0(%q: !spmd.array<f32[4]>):
      spmd.yield %q : !spmd.array<f32[4]>
    } : (!spmd.array<f32[4]>) -> !spmd.array<f32[4]>
    spmd.yield %1 : !spmd.array<f32[4]>
  } : (!spmd.array<f32[8@a]>) -> !spmd.array<f32[8@a]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
func.func @sharded_over_a_manual_axis(%x: !spmd.array<f32[8@a]>) {
  // expected-note @+1 {{the region around it is here}}
  %0 = spmd.manual(%x) over <a> {
  ^bb0(%p: !spmd.array<f32[4]>):
    // expected-error @+1 {{has f32[4@a] in a region where 'a' is manual}}
    %1 = array.sin %p : (<f32[4]>) -> <f32[4@a]>
    spmd.yield %1 : !spmd.array<f32[4@a]>
  } : (!spmd.array<f32[8@a]>) -> !spmd.array<f32[8@a]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
// expected-note @+1 {{the operand is defined here}}
func.func @manual_argument(%x: !spmd.array<f32[8@a]>) {
  // expected-error @+1 {{body takes f32[8] for a shard f32[4@_]}}
  %0 = spmd.manual(%x) over <a> {
  // expected-note @+1 {{the argument is defined here}}
  ^bb0(%p: !spmd.array<f32[8]>):
    spmd.yield %p : !spmd.array<f32[8]>
  } : (!spmd.array<f32[8@a]>) -> !spmd.array<f32[16@a]>
  return
}
}
