// The invariants of the stage `propagated`.
// RUN: spmd-opt %s --split-input-file --verify-diagnostics --spmdc-verify-propagated

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
// Closed everywhere, parts of axes included; a scalar needs nothing.
func.func @good(%x: !spmd.array<f32[8@"a:(1)2", 4@b]>, %y: !spmd.array<f32[]>) {
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
// expected-error @+1 {{f32[8] has no sharding}}
func.func @an_argument_without_sharding(%x: !spmd.array<f32[8]>) {
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @an_open_dimension(%x: !spmd.array<f32[8@a, 4@_]>) {
  // expected-error @+1 {{dimension 1 of f32[8@a, 4] is not closed, or has a priority, after propagation}}
  %0 = array.sin %x : (<f32[8@a, 4@_]>) -> <f32[8@a, 4]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
// expected-error @+1 {{the mesh has no axis 'a:(2)4' for f32[8@a:(2)4]}}
func.func @a_part_beyond_the_axis(%x: !spmd.array<f32[8@"a:(2)4"]>) {
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @a_leftover_constraint(%x: !spmd.array<f32[8@a]>) {
  // expected-error @+1 {{is left after propagation}}
  %0 = spmd.constraint %x : <f32[8@a]> -> <f32[8@b]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @a_leftover_group(%x: !spmd.array<f32[8@a]>) {
  // expected-error @+1 {{is left after propagation}}
  spmd.sharding_group %x group 0 : <f32[8@a]>
  return
}
}

// -----

// A reshard may gather padded shards: 3 rows over 1024 devices become 1024 rows.
module attributes {spmd.mesh = #spmd.mesh<m, a=1024, b=2>} {
func.func @allowed(%x: !spmd.array<f32[3@b, 4503599627370496@_]>) {
  return
}
// expected-error @+1 {{the padded shards of f32[3@a, 4503599627370496@_] would have more than 2^56 bytes in total}}
func.func @too_much_padding(%x: !spmd.array<f32[3@a, 4503599627370496@_]>) {
  return
}
}
