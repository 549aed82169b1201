// RUN: spmd-opt %s --spmdc-warn-replication -verify-diagnostics -o /dev/null
// RUN: spmd-opt %s --spmdc-warn-replication=min-bytes=1048577 2>&1 | FileCheck %s --check-prefix=LARGER --implicit-check-not=warning
// LARGER: module

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2, one=1>} {
// 1 MiB: gathered over one axis, over two, and with partial sums that are reduced as well.
func.func @warned(%x: !spmd.array<f32[512@a, 512@_]>, %y: !spmd.array<f32[512@a, 512@b]>,
                  %z: !spmd.array<f32[512@a, 512@_] unreduced(b)>) {
  // expected-warning @+1 {{f32[512@a, 512@_] is replicated on every device, 1.0 MiB each: sort needs it}}
  %0 = spmd.reshard %x {why = "sort needs it"} : <f32[512@a, 512@_]> -> <f32[512@_, 512@_]>
  // expected-warning @+1 {{f32[512@a, 512@b] is replicated on every device, 1.0 MiB each}}
  %1 = spmd.reshard %y : <f32[512@a, 512@b]> -> <f32[512@_, 512@_]>
  // expected-warning @+1 {{is replicated on every device, 1.0 MiB each}}
  %2 = spmd.reshard %z : <f32[512@a, 512@_] unreduced(b)> -> <f32[512@_, 512@_]>
  return
}

// An axis of one device does not shard: an array that is sharded over it only is replicated, before and after.
func.func @axis_of_one_device(%x: !spmd.array<f32[512@a, 512@one]>, %y: !spmd.array<f32[512@one, 512@_]>) {
  // expected-warning @+1 {{f32[512@a, 512@one] is replicated on every device, 1.0 MiB each: one}}
  %0 = spmd.reshard %x {why = "one"} : <f32[512@a, 512@one]> -> <f32[512@_, 512@one]>
  %1 = spmd.reshard %y : <f32[512@one, 512@_]> -> <f32[512@_, 512@_]>
  %2 = spmd.reshard %y : <f32[512@one, 512@_]> -> <f32[512@_, 512@one]>
  return
}

// Annotations of values computed from the array do not ask for replication: the value is sharded, smaller, or not the only
// one.
func.func @asked_for_less(%x: !spmd.array<f32[512@a, 512@_]>) -> !spmd.array<f32[512@_, 512@_]> {
  // expected-warning @+1 {{is replicated on every device, 1.0 MiB each: cut}}
  %0 = spmd.reshard %x {why = "cut"} : <f32[512@a, 512@_]> -> <f32[512@_, 512@_]>
  %1 = array.dot_general %x, %0 contract [1] x [0] batch [] x [] : <f32[512@a, 512@_]>, <f32[512@_, 512@_]> -> <f32[512@a, 512@_]> loc(#written)
  // expected-warning @+1 {{is replicated on every device, 1.0 MiB each: smaller}}
  %2 = spmd.reshard %x {why = "smaller"} : <f32[512@a, 512@_]> -> <f32[512@_, 512@_]>
  %3 = array.sin %2 : <f32[512@_, 512@_]>
  %4 = array.slice %3 [0, 0] to [2, 2] step [1, 1] : <f32[512@_, 512@_]> -> <f32[2@_, 2@_]> loc(#written)
  // expected-warning @+1 {{is replicated on every device, 1.0 MiB each: not all}}
  %5 = spmd.reshard %x {why = "not all"} : <f32[512@a, 512@_]> -> <f32[512@_, 512@_]>
  %6 = array.sin %5 : <f32[512@_, 512@_]> loc(#written)
  %7 = array.cos %5 : <f32[512@_, 512@_]>
  return %7 : !spmd.array<f32[512@_, 512@_]>
}

// The annotation of a value that is resharded to it is on its defining operation too, but describes the value behind the
// reshard, sharded or replicated.
func.func @brought_where_it_was_written(%x: !spmd.array<f32[262144@a]>) {
  // expected-warning @+1 {{is replicated on every device, 1.0 MiB each: cut in the end}}
  %0 = spmd.reshard %x {why = "cut in the end"} : <f32[262144@a]> -> <f32[262144@_]>
  %1 = array.reshape %0 : <f32[262144@_]> -> <f32[2@_, 131072@_]> loc(#written)
  %2 = spmd.reshard %1 : <f32[2@_, 131072@_]> -> <f32[2@_, 131072@a]> loc(#written)
  %3 = spmd.reshard %x {why = "whole, and cut for another annotation"} : <f32[262144@a]> -> <f32[262144@_]>
  %4 = array.reshape %3 : <f32[262144@_]> -> <f32[2@_, 131072@_]> loc(#written)
  %5 = spmd.reshard %4 : <f32[2@_, 131072@_]> -> <f32[2@_, 131072@b]> loc(#elsewhere)
  return
}

// No warning: arrays that stay sharded, that were replicated before, that are small, and that the user wants replicated.
func.func @silent(%x: !spmd.array<f32[512@a, 512@_]>, %y: !spmd.array<f32[512@a, 512@b]>,
                  %z: !spmd.array<f32[512@_, 512@_] unreduced(b)>, %small: !spmd.array<f32[512@a, 511@_]>) {
  %0 = spmd.reshard %y : <f32[512@a, 512@b]> -> <f32[512@a, 512@_]>
  %1 = spmd.reshard %z : <f32[512@_, 512@_] unreduced(b)> -> <f32[512@_, 512@_]>
  %2 = spmd.reshard %small : <f32[512@a, 511@_]> -> <f32[512@_, 511@_]>
  %3 = spmd.reshard %x : <f32[512@a, 512@_]> -> <f32[512@_, 512@_]> loc(#written)
  %4 = spmd.reshard %x : <f32[512@a, 512@_]> -> <f32[512@_, 512@_]>
  %5 = array.sin %4 : <f32[512@_, 512@_]> loc(#written)
  %6 = spmd.reshard %x : <f32[512@a, 512@_]> -> <f32[512@_, 512@_]>
  %7 = array.sin %6 : <f32[512@_, 512@_]>
  %8 = array.cos %7 : <f32[512@_, 512@_]> loc(#written)
  return
}
}
#expr = loc("x.spmd":3:11)
#type = loc("x.spmd":3:7)
#written = loc(fused<"mark">[#expr, #type])
#elsewhere = loc(fused<"mark">[#expr, #expr])
