// Errors of propagation, and their places.
// RUN: spmd-opt %s --split-input-file --verify-diagnostics --spmdc-propagate

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
// expected-error @+1 {{unknown axis 'c' in f32[8@c]; the mesh has 'a', 'b'}}
func.func @an_unknown_axis(%x: !spmd.array<f32[8@c]>) {
  return
}
}

// -----

// expected-error @+1 {{unknown axis 'a' in f32[8@a]; there is no mesh}}
func.func @no_mesh(%x: !spmd.array<f32[8@a]>) {
  return
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @a_part_that_does_not_divide(%x: !spmd.array<f32[8]>) {
  // expected-error @+1 {{'a:(1)3' in f32[8@a:(1)3] is not a part of axis 'a'}}
  %0 = spmd.constraint %x : <f32[8]> -> <f32[8@"a:(1)3"]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=6>} {
// a:(1)2 splits an axis of 6 into 2 x 3, a:(3)2 into 3 x 2.
// expected-error @+1 {{'a:(1)2' and 'a:(3)2' in f32[8@a:(1)2, 8@a:(3)2] are not parts of one split of axis 'a'}}
func.func @parts_of_two_splittings(%x: !spmd.array<f32[8@"a:(1)2", 8@"a:(3)2"]>) {
  return
}
}

// -----

// The pass reports the errors of all functions.
module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
// expected-error @+1 {{unknown axis 'c'}}
func.func @first(%x: !spmd.array<f32[8@c]>) {
  return
}
// expected-error @+1 {{unknown axis 'd'}}
func.func @second(%x: !spmd.array<f32[8@d]>) {
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
// expected-note @+2 {{the first is annotated here}}
// expected-note @+1 {{the second is annotated here}}
func.func @a_group_that_contradicts_itself(%x: !spmd.array<f32[8@a]>, %y: !spmd.array<f32[8@b]>) {
  spmd.sharding_group %x group 0 : <f32[8@a]>
  // expected-error @+1 {{values that are to be sharded alike are annotated 'a' and 'b' on dimension 0}}
  spmd.sharding_group %y group 0 : <f32[8@b]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @a_group_of_two_shapes(%x: !spmd.array<f32[8]>, %y: !spmd.array<f32[4]>) {
  // expected-note @+1 {{the group begins here}}
  spmd.sharding_group %x group 0 : <f32[8]>
  // expected-error @+1 {{cannot shard f32[4] like f32[8]: their shapes differ}}
  spmd.sharding_group %y group 0 : <f32[4]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
func.func @no_such_direction(%x: !spmd.array<f32[8@a]>) {
  // expected-error @+1 {{'spmd.allowed_direction' is "forward", "backward" or "none", not "sideways"}}
  %0 = array.optimization_barrier %x {spmd.allowed_direction = "sideways"} : (<f32[8@a]>) -> <f32[8]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
func.func @no_barrier(%x: !spmd.array<f32[8@a]>) {
  // expected-error @+1 {{is not a barrier: 'spmd.allowed_direction' is for array.optimization_barrier}}
  %0 = array.sin %x {spmd.allowed_direction = "none"} : (<f32[8@a]>) -> <f32[8]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
func.func @an_unknown_replicated_axis(%x: !spmd.array<f32[8]>) {
  // expected-error @+1 {{unknown axis 'z' in 'spmd.replicated'; the mesh has 'a'}}
  %0 = spmd.constraint %x {spmd.replicated = #spmd.axes<z>} : <f32[8]> -> <f32[8]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4>} {
func.func @no_constraint(%x: !spmd.array<f32[8@a]>) {
  // expected-error @+1 {{'spmd.replicated' is a list of axes of spmd.constraint}}
  %0 = array.sin %x {spmd.replicated = #spmd.axes<a>} : (<f32[8@a]>) -> <f32[8]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
func.func @a_carry_with_two_annotations(%x: !spmd.array<f32[8]>) {
  // expected-error @+2 {{a carry is annotated f32[8@b] and f32[8@a]}}
  // expected-note @+1 {{the second is here}}
  %0 = array.for 0 to 4 (%x) {
  // expected-note @+1 {{the first is here}}
  ^bb0(%i: !spmd.array<i32[]>, %c: !spmd.array<f32[8@b]>):
    array.yield %c : !spmd.array<f32[8@b]>
  } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8@a]>
  return
}
}

// -----

module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {
// expected-note @+1 {{the array is annotated here}}
func.func @a_region_that_takes_another_sharding(%x: !spmd.array<f32[8@a]>) {
  spmd.sharding_group %x group 0 : <f32[8@a]>
  %0 = array.sin %x : (<f32[8@a]>) -> <f32[8]>
  spmd.sharding_group %0 group 0 : <f32[8]>
  // expected-error @+1 {{'shard_map' takes or returns an array as f32[8] over its manual axes, but the array is annotated f32[8@a]}}
  %1 = spmd.manual(%0) over <a> {
  ^bb0(%p: !spmd.array<f32[8]>):
    spmd.yield %p : !spmd.array<f32[8]>
  } : (!spmd.array<f32[8]>) -> !spmd.array<f32[8]>
  return
}
}
